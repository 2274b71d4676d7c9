import { expect, it } from 'vitest';
import { readDeepseekConfig } from '../../../../src/models/text/deepseek/deepseek-config.ts';

const SIZES = { hidden_size: 64, num_hidden_layers: 3, num_attention_heads: 4, vocab_size: 100 };
const YARN = {
  type: 'yarn',
  factor: 40,
  original_max_position_embeddings: 4096,
  mscale: 1,
  mscale_all_dim: 1,
};
const read = (className: string, json: Record<string, unknown> = {}) =>
  readDeepseekConfig({ ...SIZES, ...json }, className);

it('scores of a stretched context have the factor of mscale_all_dim', () => {
  const { latents, ropes, context } = read('DeepseekV3ForCausalLM', { rope_scaling: YARN });
  expect(latents.scale).toBeCloseTo((0.1 * Math.log(40) + 1) ** 2 / Math.sqrt(192), 10);
  expect(ropes[0]).toMatchObject({ dims: 64, attentionFactor: 1 });
  expect(context).toBe(163840);
  expect(read('DeepseekV3ForCausalLM').latents.scale).toBeCloseTo(1 / Math.sqrt(192), 10);
});

it('pages keep a latent and a rotated key', () => {
  expect(read('DeepseekV3ForCausalLM').heads).toMatchObject({ kvHeads: 1, dims: 576, valueDims: 512 });
});

it('experts are chosen as the class and the file say', () => {
  expect(read('DeepseekV3ForCausalLM').experts).toMatchObject({
    ...{ scores: 'sigmoid', groups: { count: 8, chosen: 4, by: 2 }, scale: 2.5, normed: true, shared: 2048 },
    layers: [false, false, false],
  });
  const kimi = { n_group: 1, topk_group: 1, first_k_dense_replace: 1 };
  const { groups, layers } = read('DeepseekV3ForCausalLM', kimi).experts!;
  expect([groups, layers]).toEqual([undefined, [false, true, true]]);
  const limited = { topk_method: 'group_limited_greedy', n_group: 8, topk_group: 3, num_experts_per_tok: 6 };
  const { scores, ...second } = read('DeepseekV2ForCausalLM', limited).experts!;
  expect(scores).toBeUndefined();
  expect(second).toMatchObject({ groups: { count: 8, chosen: 3, by: 1 }, normed: false });
  expect(read('YoutuForCausalLM').experts).toBeNull();
});

it('layers with an indexer keep its keys, others see the tokens of the last one', () => {
  expect(read('DeepseekV3ForCausalLM').indexer).toBeNull();
  const { indexer, layers } = read('DeepseekV32ForCausalLM', { index_topk_freq: 1 });
  expect(indexer).toMatchObject({ heads: 64, dims: 128, most: 2048, rotated: 64, pairs: 'half' });
  expect(layers.map(({ index }) => index)).toEqual([128, 128, 128]);
  const own = (json: Record<string, unknown>) => read('GlmMoeDsaForCausalLM', json).indexer!.own;
  expect(read('GlmMoeDsaForCausalLM').indexer).toMatchObject({ heads: 32, pairs: 'adjacent' });
  expect(own({ index_topk_freq: 4, index_skip_topk_offset: 1 })).toEqual([true, false, false]);
  expect(own({ indexer_types: ['full', 'shared', 'full'] })).toEqual([true, false, true]);
  expect(own({ index_topk_pattern: 'FFS' })).toEqual([true, true, false]);
});

it.each([
  ['DeepseekV3ForCausalLM', { kv_lora_rank: 1024 }, 'kv_lora_rank 1024 is not built'],
  ['DeepseekV3ForCausalLM', { v_head_dim: 6 }, 'v_head_dim 6 is not built'],
  ['DeepseekV3ForCausalLM', { scoring_func: 'softmax' }, 'scoring_func "softmax" is not built'],
  ['DeepseekV3ForCausalLM', { n_group: 7 }, 'n_group is 7, and 4 of them are to hold 8 of 256 experts'],
  [
    'DeepseekV2ForCausalLM',
    { num_experts_per_tok: 6, topk_method: 'best' },
    'topk_method "best" is not built',
  ],
  [
    'DeepseekV2ForCausalLM',
    { num_experts_per_tok: 6, norm_topk_prob: true },
    'norm_topk_prob true is not built',
  ],
  [
    'GlmMoeDsaForCausalLM',
    { indexer_types: ['shared', 'full', 'full'] },
    'indexer_types leaves the first layer without an indexer',
  ],
  ['DeepseekV32ForCausalLM', { index_topk_pattern: 'FS' }, 'index_topk_pattern has 2 of 3 layers'],
  [
    'DeepseekV32ForCausalLM',
    { index_topk_freq: 4, index_skip_topk_offset: 0 },
    'index_skip_topk_offset leaves the first layer without an indexer',
  ],
  ['DeepseekV32ForCausalLM', { index_head_dim: 32 }, 'index_head_dim 32 is not built'],
  ['DeepseekV32ForCausalLM', { q_lora_rank: null }, 'q_lora_rank null is not built with an indexer'],
  ['DeepseekV2ForCausalLM', { use_mla: false }, 'use_mla false is not built'],
  ['Glm4MoeLiteForCausalLM', { mlp_layer_types: ['dense'] }, 'mlp_layer_types has 1 of 3 layers'],
])('%s with %o', (className, json, message) => {
  expect(() => read(className, json)).toThrow(message);
});
