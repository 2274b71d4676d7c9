// The classes that llama.ts computes.

import type { ExpertsFamily } from '../blocks/experts-config.ts';
import { LLAMA, type LlamaFamily } from './llama-family.ts';
import { NAMED_FAMILIES } from './llama-named-families.ts';

const MISTRAL: LlamaFamily = {
  ...LLAMA,
  modelType: 'mistral',
  examples: 'Mistral 7B, Ministral',
  kvHeads: 8,
  context: 131072,
  bias: 'none',
  mlpBias: null,
  windows: 'typed',
};
const QWEN2: LlamaFamily = {
  ...LLAMA,
  modelType: 'qwen2',
  examples: 'Qwen2, Qwen2.5, DeepSeek-R1-Distill-Qwen',
  kvHeads: 32,
  context: 32768,
  bias: 'qkv',
  mlpBias: null,
  windows: 'some',
  windowSwitch: true,
};
const QWEN3: LlamaFamily = {
  ...QWEN2,
  modelType: 'qwen3',
  examples: 'Qwen3 0.6B to 32B',
  dims: 128,
  bias: 'stated',
  queryNorm: 'heads',
};

/** Names of a layer's experts, as Qwen and OLMoE have them. */
export const QWEN_EXPERTS: ExpertsFamily = {
  block: 'mlp',
  projections: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' },
  ffn: 'moe_intermediate_size',
  normed: 'stated',
  denseLayers: true,
  shared: false,
};

export const FAMILIES: ReadonlyMap<string, LlamaFamily> = new Map<string, LlamaFamily>([
  ['LlamaForCausalLM', LLAMA],
  ['MistralForCausalLM', MISTRAL],
  ['MinistralForCausalLM', { ...MISTRAL, modelType: 'ministral', examples: 'Ministral 8B with layer_types' }],
  [
    'Ministral3ForCausalLM',
    {
      ...MISTRAL,
      modelType: 'ministral3',
      examples: 'Ministral 3 3B to 14B, Devstral 2',
      dims: 128,
      eps: 1e-5,
      context: 262144,
      windows: 'all',
      window: null,
      growth: true,
    },
  ],
  ['Qwen2ForCausalLM', QWEN2],
  ['Qwen3ForCausalLM', QWEN3],
  [
    'Phi3ForCausalLM',
    {
      ...LLAMA,
      modelType: 'phi3',
      examples: 'Phi-3 mini and medium, Phi-3.5 mini, Phi-4, Phi-4-mini',
      eps: 1e-5,
      context: 4096,
      bias: 'none',
      mlpBias: null,
      windows: 'all',
      window: null,
      fused: true,
      ropeTypes: ['default', 'longrope'],
      partialRotation: true,
    },
  ],
  [
    'SmolLM3ForCausalLM',
    {
      ...LLAMA,
      modelType: 'smollm3',
      examples: 'SmolLM3',
      kvHeads: 4,
      context: 32768,
      theta: 2e6,
      tied: true,
      windows: 'unrotated',
      windowSwitch: true,
      window: null,
      unrotated: true,
    },
  ],
  [
    'GraniteForCausalLM',
    { ...LLAMA, modelType: 'granite', examples: 'Granite 3.x 2B and 8B', multipliers: 'granite' },
  ],
  [
    'MixtralForCausalLM',
    {
      ...MISTRAL,
      modelType: 'mixtral',
      examples: 'Mixtral 8x7B and 8x22B',
      eps: 1e-5,
      theta: 1e6,
      windows: 'all',
      window: null,
      experts: {
        block: 'block_sparse_moe',
        projections: { gate: 'w1', up: 'w3', down: 'w2' },
        ffn: 'intermediate_size',
        normed: true,
        denseLayers: false,
        shared: false,
      },
    },
  ],
  [
    'Qwen2MoeForCausalLM',
    {
      ...QWEN2,
      modelType: 'qwen2_moe',
      examples: 'Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B',
      kvHeads: 16,
      windows: 'alternate',
      experts: { ...QWEN_EXPERTS, shared: true },
    },
  ],
  [
    'Qwen3MoeForCausalLM',
    {
      ...QWEN3,
      modelType: 'qwen3_moe',
      examples: 'Qwen3-30B-A3B, Qwen3-235B-A22B',
      kvHeads: 4,
      dims: null,
      windows: 'all',
      // Within Qwen3-VL-MoE, one tensor of a layer has gate and up of all experts.
      experts: {
        ...QWEN_EXPERTS,
        projections: { ...QWEN_EXPERTS.projections, gateUp: 'gate_up_proj' },
        gateUpOrder: 'halves',
      },
    },
  ],
  [
    'OlmoeForCausalLM',
    {
      ...LLAMA,
      modelType: 'olmoe',
      examples: 'OLMoE',
      eps: 1e-5,
      context: 4096,
      mlpBias: null,
      queryNorm: 'row',
      experts: { ...QWEN_EXPERTS, ffn: 'intermediate_size', denseLayers: false },
    },
  ],
  [
    'SeedOssForCausalLM',
    {
      ...LLAMA,
      modelType: 'seed_oss',
      examples: 'Seed-OSS 36B',
      kvHeads: 8,
      dims: 128,
      context: 524288,
      bias: { qkv: ['attention_bias', true], out: ['attention_out_bias', false] },
    },
  ],
  [
    'HeliumForCausalLM',
    {
      ...LLAMA,
      modelType: 'helium',
      examples: 'Helium 1 2B',
      kvHeads: 20,
      dims: 128,
      eps: 1e-8,
      context: 4096,
      theta: 100000,
      bias: { qkv: ['attention_bias', false], out: null },
      layout: { heads: { pairs: 'adjacent' } },
    },
  ],
  ...NAMED_FAMILIES,
]);
