// Configurations of Gemma 3n: that of a published E4B, defaults, and what is refused.

import { expect, it } from 'vitest';
import { readGemma3nConfig } from '../../../../src/models/text/gemma3n/gemma3n-config.ts';

const DEPTH = 35;
/** Keys as the published model states them. */
const E4B = {
  model_type: 'gemma3n_text',
  activation_sparsity_pattern: Array.from({ length: DEPTH }, (_, i) => (i < 10 ? 0.95 : 0)),
  altup_active_idx: 0,
  altup_coef_clip: 120,
  altup_correct_scale: true,
  altup_num_inputs: 4,
  final_logit_softcapping: 30,
  head_dim: 256,
  hidden_activation: 'gelu_pytorch_tanh',
  hidden_size: 2048,
  hidden_size_per_layer_input: 256,
  intermediate_size: Array.from({ length: DEPTH }, () => 16384),
  laurel_rank: 64,
  layer_types: Array.from({ length: DEPTH }, (_, i) =>
    i % 5 === 4 ? 'full_attention' : 'sliding_attention',
  ),
  max_position_embeddings: 32768,
  num_attention_heads: 8,
  num_hidden_layers: DEPTH,
  num_key_value_heads: 2,
  num_kv_shared_layers: 15,
  rms_norm_eps: 1e-6,
  rope_local_base_freq: 10000,
  rope_scaling: null,
  rope_theta: 1e6,
  sliding_window: 512,
  vocab_size: 262400,
  vocab_size_per_layer_input: 262144,
};
const read = (json: object) => readGemma3nConfig({ ...json }, 'Gemma3nForCausalLM');

it('a published configuration is that of the defaults', () => {
  const { layers, openFrom, ropes, ...rest } = read(E4B);
  expect(read({ model_type: 'gemma3n_text' })).toEqual({ layers, openFrom, ropes, ...rest });
  expect(layers.map(({ shares }) => shares ?? null).slice(18)).toEqual([
    ...[null, null, 18, 18, 18, 18, 19, 18, 18, 18, 18, 19, 18, 18, 18, 18, 19],
  ]);
  expect(openFrom.map((one) => one?.toFixed(4) ?? null)).toEqual(
    layers.map((_, i) => (i < 10 ? '1.6449' : null)),
  );
});

it.each([
  ['another number of streams', { altup_num_inputs: 2 }, 'altup_num_inputs'],
  ['another first stream', { altup_active_idx: 1 }, 'altup_active_idx'],
  ['an output without its gain', { altup_correct_scale: false }, 'altup_correct_scale'],
  ['streams of odd widths', { hidden_size: 2056 }, 'hidden_size'],
  ['no embeddings of layers', { hidden_size_per_layer_input: 0 }, 'hidden_size_per_layer_input'],
])('a configuration with %s is refused', (_, changes, param) => {
  expect(() => read({ ...E4B, ...changes })).toThrow(expect.objectContaining({ code: 'unsupported', param }));
});
