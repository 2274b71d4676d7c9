// A Gemma 3 with 249 million weights: five windowed layers of six, heads of 256, norms before and after each block, a tied head of 65,536 tokens.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tensorShapes } from './checkpoint.mjs';
import { byteTokenizer, madeOnce, writeTensors } from './synthetic.mjs';

const SHAPE = {
  hidden: 1024,
  layers: 12,
  heads: 4,
  kvHeads: 1,
  dims: 256,
  ffn: 4096,
  vocabulary: 65536,
  tied: true,
};
const CONTEXT = 8192;

/** @returns {string} the folder, made at the first call */
export function gemmaCheckpoint() {
  return madeOnce('gemma-250m', (folder) => {
    writeTensors(join(folder, 'model.safetensors'), [...tensorShapes(SHAPE), ...norms()]);
    writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(byteTokenizer(SHAPE.vocabulary)));
    writeFileSync(join(folder, 'tokenizer_config.json'), '{}');
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config(), null, 2));
  });
}

/** Norms that a Llama's layer lacks, [name, shape]. */
function norms() {
  const { hidden, dims, layers } = SHAPE;
  const layer = (name) => [
    [`${name}.self_attn.q_norm.weight`, [dims]],
    [`${name}.self_attn.k_norm.weight`, [dims]],
    [`${name}.pre_feedforward_layernorm.weight`, [hidden]],
    [`${name}.post_feedforward_layernorm.weight`, [hidden]],
  ];
  return Array.from({ length: layers }, (_, i) => layer(`model.layers.${i}`)).flat();
}

function config() {
  return {
    architectures: ['Gemma3ForCausalLM'],
    model_type: 'gemma3_text',
    hidden_size: SHAPE.hidden,
    intermediate_size: SHAPE.ffn,
    num_hidden_layers: SHAPE.layers,
    num_attention_heads: SHAPE.heads,
    num_key_value_heads: SHAPE.kvHeads,
    head_dim: SHAPE.dims,
    query_pre_attn_scalar: SHAPE.dims,
    sliding_window: 512,
    sliding_window_pattern: 6,
    rope_theta: 1e6,
    rope_local_base_freq: 1e4,
    vocab_size: SHAPE.vocabulary,
    max_position_embeddings: CONTEXT,
    rms_norm_eps: 1e-6,
    hidden_activation: 'gelu_pytorch_tanh',
    tie_word_embeddings: true,
    torch_dtype: 'float16',
  };
}
