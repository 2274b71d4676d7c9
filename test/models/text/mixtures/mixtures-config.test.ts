// Configurations of mixtures as they are published, in the keys of each family.

import { expect, it } from 'vitest';
import { readMixtureConfig } from '../../../../src/models/text/mixtures/mixtures-config.ts';

const SIZES = {
  vocab_size: 128,
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
};
const MINIMAX = {
  ...SIZES,
  head_dim: 32,
  rotary_dim: 16,
  num_local_experts: 8,
  num_experts_per_tok: 2,
  scoring_func: 'sigmoid',
  use_routing_bias: true,
  attn_type_list: [1, 1, 1],
};
const HUNYUAN = {
  ...SIZES,
  attention_head_dim: 32,
  num_experts: 8,
  moe_topk: [2, 2, 2],
  num_shared_expert: [1, 1, 1],
  rope_theta: 10000,
  rope_scaling: { type: 'dynamic', alpha: 1000, factor: 1, beta_fast: 32, beta_slow: 1 },
};
const ERNIE = {
  ...SIZES,
  moe_num_experts: 8,
  moe_k: 2,
  moe_intermediate_size: 24,
  moe_num_shared_experts: 2,
};

it('rotary_dim states which part of a head is rotated', () => {
  const { heads, ropes, experts, queryNorm } = readMixtureConfig(MINIMAX, 'MiniMaxM2ForCausalLM');
  expect([heads.rotated, ropes[0]!.dims, queryNorm]).toEqual([16, 16, 'row']);
  expect(experts).toMatchObject({ count: 8, chosen: 2, scores: 'sigmoid', normed: true, shared: null });
});

it('lists of one value for each layer count once, and an alpha stretches the base of the rotation', () => {
  const { heads, ropes, experts } = readMixtureConfig(HUNYUAN, 'HunYuanMoEV1ForCausalLM');
  expect(heads.dims).toBe(32);
  expect(ropes[0]).toMatchObject({ type: 'ntk', factor: 1000, theta: 10000 });
  expect(experts).toMatchObject({ count: 8, chosen: 2, ffn: 96, shared: 96, plainShared: true });
});

it('layers with experts follow from the first one, the last one and the interval', () => {
  const sparse = (more: object) =>
    readMixtureConfig({ ...ERNIE, ...more }, 'Ernie4_5_MoeForCausalLM').experts!.layers;
  expect(sparse({})).toEqual([false, true, true]);
  expect(sparse({ moe_layer_start_index: 0, moe_layer_end_index: 1 })).toEqual([true, true, false]);
  expect(sparse({ moe_layer_interval: 2 })).toEqual([false, true, false]);
});

it('experts that take all tokens are as wide as all of them together', () => {
  expect(readMixtureConfig(ERNIE, 'Ernie4_5_MoeForCausalLM').experts!.shared).toBe(48);
});

it.each([
  ['MiniMaxM2ForCausalLM', { ...MINIMAX, attn_type_list: [1, 0, 1] }, 'attn_type_list'],
  ['MiniMaxM2ForCausalLM', { ...MINIMAX, scoring_func: 'softmax' }, 'scoring_func'],
  ['HunYuanMoEV1ForCausalLM', { ...HUNYUAN, moe_topk: [1, 2, 2] }, 'moe_topk'],
  ['HunYuanMoEV1ForCausalLM', { ...HUNYUAN, use_cla: true }, 'use_cla'],
  ['Ernie4_5_MoeForCausalLM', { ...ERNIE, moe_k: 9 }, 'moe_k'],
  ['Ernie4_5_MoeForCausalLM', { ...ERNIE, use_bias: true }, 'use_bias'],
])('%s: names the key that it refuses', (architecture, json, key) => {
  expect(() => readMixtureConfig(json, architecture)).toThrow(`config.json: ${key} `);
});
