// By what the classes that llama.ts computes differ. Values left out of a config.json are those of transformers' configuration classes.

import type { HeadShape } from '../../../kernels/batch.ts';
import type { Json } from '../../config-values.ts';
import type { DecoderNames } from '../blocks/decoder.ts';
import type { ExpertsFamily } from '../blocks/experts-config.ts';
import type { RopeType } from '../blocks/rope.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export interface Family {
  /** model_type of config.json. */
  modelType: string;
  /** Published models. */
  examples: string;
  /** Key and value heads where nothing is stated; null: as many as heads. */
  kvHeads: number | null;
  /** Dimensions of a head where none are stated; null: hidden_size / num_attention_heads. */
  dims: number | null;
  eps: number;
  context: number;
  theta: number;
  tied: boolean;
  /** Which projections of attention have a bias; `stated`: all, if attention_bias says so, or all but the last one. */
  bias: 'none' | 'qkv' | 'stated' | 'stated-qkv';
  /** Whether mlp_bias is read. */
  mlpBias: boolean;
  /** `stated`: norms of heads, if use_qk_norm says so. */
  queryNorm: 'none' | 'heads' | 'row' | 'stated';
  /**
   * Which layers look back on sliding_window tokens: none, all of them, all or those that layer_types names, or those that layer_types or
   * max_window_layers name. Where layer_types is missing, `alternate`: every other layer before max_window_layers, the first included;
   * `unrotated`: those without positions.
   */
  windows: 'none' | 'all' | 'typed' | 'some' | 'alternate' | 'unrotated';
  /** The window holds only if use_sliding_window says so. */
  windowSwitch: boolean;
  /** sliding_window where it is left out; null: there is none. */
  window: number | null;
  /** q, k and v are one tensor, and gate and up are. */
  fused: boolean;
  /** q, k and v are one tensor, and gate and up are not. */
  fusedQkv?: boolean;
  /** Rope types that the class has; null: all. */
  ropeTypes: readonly RopeType[] | null;
  /** partial_rotary_factor of a head's dimensions are rotated. */
  partialRotation: boolean;
  /** Some layers have no positions, as no_rope_layers or no_rope_layer_interval say. */
  unrotated: boolean;
  /** Granite's four multipliers are read. */
  multipliers: boolean;
  /** Queries grow with their position, by llama_4_scaling_beta of the rope parameters. */
  growth: boolean;
  experts: ExpertsFamily | null;
  /** Dimensions that a rotation turns together; left out: one of each half. */
  pairs?: HeadShape['pairs'];
  /** Names of the norms of queries and keys that are not q_norm and k_norm. */
  attentionNames?: AttentionConfig['attentionNames'];
  /** Those norms follow the rotation. */
  normTurned?: boolean;
  /** Published with Python code that is not needed. */
  needsNoCode?: boolean;
  /** Module of attention in a layer; left out: self_attn. */
  attentionModule?: string;
  /** Names outside of the layers. */
  names?: Partial<DecoderNames>;
  /** Names of keys of config.json, by those that the other classes have. */
  keys?: Readonly<Record<string, string>>;
  /** Values of keys for which the class is built; a missing key has the first. */
  only?: Readonly<Record<string, readonly unknown[]>>;
  /** Keys of config.json in another form, as the other classes have them. */
  adapt?(json: Json): Json;
}

export const LLAMA: Family = {
  modelType: 'llama',
  examples: 'Llama 2 and 3.x, TinyLlama, SmolLM2, DeepSeek-R1-Distill-Llama',
  kvHeads: null,
  dims: null,
  eps: 1e-6,
  context: 2048,
  theta: 10000,
  tied: false,
  bias: 'stated',
  mlpBias: true,
  queryNorm: 'none',
  windows: 'none',
  windowSwitch: false,
  window: 4096,
  fused: false,
  ropeTypes: null,
  partialRotation: false,
  unrotated: false,
  multipliers: false,
  growth: false,
  experts: null,
};
export const MISTRAL: Family = {
  ...LLAMA,
  modelType: 'mistral',
  examples: 'Mistral 7B, Ministral',
  kvHeads: 8,
  context: 131072,
  bias: 'none',
  mlpBias: false,
  windows: 'typed',
};
export const QWEN2: Family = {
  ...LLAMA,
  modelType: 'qwen2',
  examples: 'Qwen2, Qwen2.5, DeepSeek-R1-Distill-Qwen',
  kvHeads: 32,
  context: 32768,
  bias: 'qkv',
  mlpBias: false,
  windows: 'some',
  windowSwitch: true,
};
export const QWEN3: Family = {
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

export const FAMILIES: ReadonlyMap<string, Family> = new Map([
  ['LlamaForCausalLM', LLAMA],
  ['MistralForCausalLM', MISTRAL],
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
      mlpBias: false,
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
    { ...LLAMA, modelType: 'granite', examples: 'Granite 3.x 2B and 8B', multipliers: true },
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
      mlpBias: false,
      queryNorm: 'row',
      experts: { ...QWEN_EXPERTS, ffn: 'intermediate_size', denseLayers: false },
    },
  ],
]);
