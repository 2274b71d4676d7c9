// A Qwen3.5 with 234 million weights: gated DeltaNet of 16 heads in three layers of four, gated attention in the fourth, a tied head of
// 65,536 tokens; one with a head that predicts a token further ahead, too.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { byteTokenizer, madeOnce, writeTensors } from './synthetic.mjs';

const HIDDEN = 1024;
const LAYERS = 8;
const FFN = 3584;
const VOCABULARY = 65536;
const CONTEXT = 8192;
const ATTENTION = { heads: 8, kvHeads: 2, dims: 256 };
/** Key and value heads of linear attention. */
const LINEAR = { heads: 16, dims: 128, taps: 4 };

/** @returns {string} the folder, made at the first call */
export function hybridCheckpoint() {
  return madeOnce('hybrid-250m', (folder) => write(folder, tensorShapes(), config()));
}

/** @returns {string} the folder of the one whose head predicts further ahead, made at the first call */
export function headedCheckpoint() {
  return madeOnce('hybrid-250m-mtp', (folder) =>
    write(folder, [...tensorShapes(), ...headShapes()], { ...config(), mtp_num_hidden_layers: 1 }),
  );
}

function write(folder, tensors, settings) {
  writeTensors(join(folder, 'model.safetensors'), tensors);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(byteTokenizer(VOCABULARY)));
  writeFileSync(join(folder, 'tokenizer_config.json'), '{}');
  writeFileSync(join(folder, 'config.json'), JSON.stringify(settings, null, 2));
}

function headShapes() {
  return [
    ['mtp.fc.weight', [HIDDEN, 2 * HIDDEN]],
    ['mtp.pre_fc_norm_embedding.weight', [HIDDEN]],
    ['mtp.pre_fc_norm_hidden.weight', [HIDDEN]],
    ...layerShapes('mtp.layers.0', attention('mtp.layers.0.self_attn')),
    ['mtp.norm.weight', [HIDDEN]],
  ];
}

function layerShapes(name, mixer) {
  return [
    [`${name}.input_layernorm.weight`, [HIDDEN]],
    ...mixer,
    [`${name}.post_attention_layernorm.weight`, [HIDDEN]],
    [`${name}.mlp.gate_proj.weight`, [FFN, HIDDEN]],
    [`${name}.mlp.up_proj.weight`, [FFN, HIDDEN]],
    [`${name}.mlp.down_proj.weight`, [HIDDEN, FFN]],
  ];
}

const isLinear = (layer) => (layer + 1) % 4 !== 0;

function tensorShapes() {
  const layer = (i) => {
    const name = `model.layers.${i}`;
    return layerShapes(name, isLinear(i) ? linear(`${name}.linear_attn`) : attention(`${name}.self_attn`));
  };
  return [
    ['model.embed_tokens.weight', [VOCABULARY, HIDDEN]],
    ...Array.from({ length: LAYERS }, (_, i) => layer(i)).flat(),
    ['model.norm.weight', [HIDDEN]],
  ];
}

function linear(name) {
  const { heads, dims, taps } = LINEAR;
  const columns = heads * dims;
  return [
    [`${name}.in_proj_qkv.weight`, [3 * columns, HIDDEN]],
    [`${name}.in_proj_z.weight`, [columns, HIDDEN]],
    [`${name}.in_proj_b.weight`, [heads, HIDDEN]],
    [`${name}.in_proj_a.weight`, [heads, HIDDEN]],
    [`${name}.conv1d.weight`, [3 * columns, 1, taps]],
    [`${name}.A_log`, [heads]],
    [`${name}.dt_bias`, [heads]],
    [`${name}.norm.weight`, [dims]],
    [`${name}.out_proj.weight`, [HIDDEN, columns]],
  ];
}

function attention(name) {
  const { heads, kvHeads, dims } = ATTENTION;
  return [
    [`${name}.q_proj.weight`, [2 * heads * dims, HIDDEN]],
    [`${name}.k_proj.weight`, [kvHeads * dims, HIDDEN]],
    [`${name}.v_proj.weight`, [kvHeads * dims, HIDDEN]],
    [`${name}.q_norm.weight`, [dims]],
    [`${name}.k_norm.weight`, [dims]],
    [`${name}.o_proj.weight`, [HIDDEN, heads * dims]],
  ];
}

function config() {
  return {
    architectures: ['Qwen3_5ForCausalLM'],
    model_type: 'qwen3_5_text',
    hidden_size: HIDDEN,
    intermediate_size: FFN,
    num_hidden_layers: LAYERS,
    num_attention_heads: ATTENTION.heads,
    num_key_value_heads: ATTENTION.kvHeads,
    head_dim: ATTENTION.dims,
    full_attention_interval: 4,
    linear_num_key_heads: LINEAR.heads,
    linear_num_value_heads: LINEAR.heads,
    linear_key_head_dim: LINEAR.dims,
    linear_value_head_dim: LINEAR.dims,
    linear_conv_kernel_dim: LINEAR.taps,
    vocab_size: VOCABULARY,
    max_position_embeddings: CONTEXT,
    rms_norm_eps: 1e-6,
    hidden_act: 'silu',
    tie_word_embeddings: true,
    rope_parameters: { rope_type: 'default', rope_theta: 1e7, partial_rotary_factor: 0.25 },
    dtype: 'float16',
  };
}
