// What a class that llama.ts computes may have otherwise than others, and Llama itself. Values left out of a config.json are those of
// transformers' configuration classes.

import type { HeadShape } from '../../../kernels/batch.ts';
import type { Json } from '../../config-values.ts';
import type { DecoderNames } from '../blocks/decoder.ts';
import type { ExpertsFamily } from '../blocks/experts-config.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import type { RopeType } from '../blocks/rope.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export interface LlamaFamily {
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
  /** Which projections of attention have a bias; `stated`: all, if attention_bias says so. Otherwise keys that state it. */
  bias: 'none' | 'qkv' | 'stated' | Biases;
  /** Key that states whether the feed-forward block has biases; null: it has none. */
  mlpBias: string | null;
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
  /** q, k and v are one tensor, and gate and up are; `qkv`: the former only. */
  fused: boolean | 'qkv';
  /** Rope types that the class has; null: all. */
  ropeTypes: readonly RopeType[] | null;
  /** partial_rotary_factor of a head's dimensions are rotated. */
  partialRotation: boolean;
  /** Some layers have no positions, as no_rope_layers or no_rope_layer_interval say. */
  unrotated: boolean;
  /** Granite's four multipliers are read, or MiniCPM's three. */
  multipliers: 'none' | 'granite' | 'minicpm';
  /** Queries grow with their position, by llama_4_scaling_beta of the rope parameters. */
  growth: boolean;
  experts: ExpertsFamily | null;
  layout: FamilyLayout | null;
  /** Published with Python code that is not needed. */
  needsNoCode?: boolean;
  /** Values of keys for which the class is built; a missing key has the first. */
  only?: Readonly<Record<string, readonly unknown[]>>;
  /** Keys of config.json in another form, as the other classes have them. */
  adapt?(json: Json): Json;
}

/** Names of the modules in a layer. */
export interface LayerModules {
  attentionNorm: string;
  attention: string;
  mlpNorm: string;
  mlp: string;
}

/** Key and default of the biases of queries, keys and values, and of the output's; null: it has none. */
interface Biases {
  qkv: readonly [key: string, fallback: boolean];
  out: readonly [key: string, fallback: boolean] | null;
}

/** What a class has otherwise than Llama. */
export interface FamilyLayout {
  /** Its keys of config.json, by those that the others have. */
  keys?: Readonly<Record<string, string>>;
  /** Modules outside of the layers, and in them. */
  names?: Partial<DecoderNames>;
  modules?: LayerModules;
  attentionNames?: NonNullable<AttentionConfig['attentionNames']>;
  mlpNames?: NonNullable<MlpConfig['mlpNames']>;
  /** Norms of queries and keys follow the rotation. */
  normTurned?: boolean;
  /** Tensors that checkpoints have and that texts do not need. */
  ignored?: RegExp;
  /** Dimensions that a rotation turns together, and the order of a row's heads. */
  heads?: Pick<HeadShape, 'pairs' | 'order'>;
}

/** Modules of a layer as most classes name them. */
export const MODULES: LayerModules = {
  attentionNorm: 'input_layernorm',
  attention: 'self_attn',
  mlpNorm: 'post_attention_layernorm',
  mlp: 'mlp',
};

export const LLAMA: LlamaFamily = {
  modelType: 'llama',
  examples: 'Llama 2 and 3.x, TinyLlama, SmolLM2, DeepSeek-R1-Distill-Llama',
  kvHeads: null,
  dims: null,
  eps: 1e-6,
  context: 2048,
  theta: 10000,
  tied: false,
  bias: 'stated',
  mlpBias: 'mlp_bias',
  queryNorm: 'none',
  windows: 'none',
  windowSwitch: false,
  window: 4096,
  fused: false,
  ropeTypes: null,
  partialRotation: false,
  unrotated: false,
  multipliers: 'none',
  growth: false,
  experts: null,
  layout: null,
};
