// A Llama of 250 million random weights in f16, in the ordinary Hugging Face layout.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { byteTokenizer, madeOnce, writeTensors } from './synthetic.mjs';

export const SHAPE = {
  hidden: 1024,
  layers: 16,
  heads: 16,
  kvHeads: 4,
  dims: 64,
  ffn: 2816,
  vocabulary: 32000,
};
const CONTEXT = 8192;

/** @returns {string} the folder, made at the first call */
export function syntheticCheckpoint() {
  return madeOnce('llama-250m', (folder) => {
    writeTensors(join(folder, 'model.safetensors'), tensorShapes());
    writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(byteTokenizer(SHAPE.vocabulary)));
    writeFileSync(join(folder, 'tokenizer_config.json'), '{}');
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config(), null, 2));
  });
}

function config() {
  return {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_size: SHAPE.hidden,
    intermediate_size: SHAPE.ffn,
    num_hidden_layers: SHAPE.layers,
    num_attention_heads: SHAPE.heads,
    num_key_value_heads: SHAPE.kvHeads,
    head_dim: SHAPE.dims,
    vocab_size: SHAPE.vocabulary,
    max_position_embeddings: CONTEXT,
    rope_theta: 10000,
    rms_norm_eps: 1e-5,
    hidden_act: 'silu',
    tie_word_embeddings: false,
    torch_dtype: 'float16',
  };
}

function tensorShapes() {
  const { hidden, layers, heads, kvHeads, dims, ffn, vocabulary } = SHAPE;
  const layer = (i) => [
    [`model.layers.${i}.input_layernorm.weight`, [hidden]],
    [`model.layers.${i}.self_attn.q_proj.weight`, [heads * dims, hidden]],
    [`model.layers.${i}.self_attn.k_proj.weight`, [kvHeads * dims, hidden]],
    [`model.layers.${i}.self_attn.v_proj.weight`, [kvHeads * dims, hidden]],
    [`model.layers.${i}.self_attn.o_proj.weight`, [hidden, heads * dims]],
    [`model.layers.${i}.post_attention_layernorm.weight`, [hidden]],
    [`model.layers.${i}.mlp.gate_proj.weight`, [ffn, hidden]],
    [`model.layers.${i}.mlp.up_proj.weight`, [ffn, hidden]],
    [`model.layers.${i}.mlp.down_proj.weight`, [hidden, ffn]],
  ];
  return [
    ['model.embed_tokens.weight', [vocabulary, hidden]],
    ...Array.from({ length: layers }, (_, i) => layer(i)).flat(),
    ['model.norm.weight', [hidden]],
    ['lm_head.weight', [vocabulary, hidden]],
  ];
}
