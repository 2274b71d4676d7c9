// Llamas with 250 million random weights in f16, in the ordinary Hugging Face layout: one with 32,000 tokens, and one with fewer
// layers and the vocabulary size of large models.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { byteLevelTokenizer, byteTokenizer, madeOnce, writeTensors } from './synthetic.mjs';
import { END_TEXT, SIZE, spelledTokens } from './vocabulary.mjs';

export const SHAPE = {
  hidden: 1024,
  layers: 16,
  heads: 16,
  kvHeads: 4,
  dims: 64,
  ffn: 2816,
  vocabulary: 32000,
};
const WORDY_SHAPE = { ...SHAPE, layers: 8, vocabulary: SIZE, tied: true };
const CONTEXT = 8192;

/** @returns {string} the folder, made at the first call */
export function syntheticCheckpoint() {
  return llamaCheckpoint('llama-250m', SHAPE);
}

/** @returns {string} the folder of a Llama of another shape, made at the first call */
export function llamaCheckpoint(name, shape) {
  return madeOnce(name, (folder) => write(folder, shape, byteTokenizer(shape.vocabulary), {}));
}

/** @returns {string} the folder of the one with 151,936 tokens, made at the first call */
export function wordyCheckpoint() {
  const words = () => byteLevelTokenizer(spelledTokens().slice(256, -1), END_TEXT);
  return madeOnce('llama-250m-words', (folder) =>
    write(folder, WORDY_SHAPE, words(), { eos_token: END_TEXT }),
  );
}

function write(folder, shape, tokenizer, tokenizerConfig) {
  writeTensors(join(folder, 'model.safetensors'), tensorShapes(shape));
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig));
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config(shape), null, 2));
}

function config(shape) {
  return {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_size: shape.hidden,
    intermediate_size: shape.ffn,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.kvHeads,
    head_dim: shape.dims,
    vocab_size: shape.vocabulary,
    max_position_embeddings: CONTEXT,
    rope_theta: 10000,
    rms_norm_eps: 1e-5,
    hidden_act: 'silu',
    tie_word_embeddings: shape.tied === true,
    torch_dtype: 'float16',
  };
}

/** Tensors [name, shape] by the names of transformers. */
export function tensorShapes({ hidden, layers, heads, kvHeads, dims, ffn, vocabulary, tied }) {
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
    ...(tied ? [] : [['lm_head.weight', [vocabulary, hidden]]]),
  ];
}
