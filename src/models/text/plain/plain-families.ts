// By what the classes of plain-config.ts differ, all of which plain-layer.ts computes. Values left out of a config.json are those of
// transformers' configuration classes.

import type { Json } from '../../config-values.ts';
import type { ExpertsFamily } from '../blocks/experts-config.ts';
import type { NormKind } from '../blocks/norm.ts';
import type { PlainConfig } from '../blocks/plain-layer.ts';

/** A setting that all models of a class have, or the key that states it and what counts where it is left out. */
export type Stated = boolean | readonly [key: string, fallback: boolean];

export interface PlainFamily {
  /** model_type of config.json. */
  modelType: string;
  /** Published models. */
  examples: string;
  /** As TextClass has it. */
  needsNoCode?: boolean;
  norm: NormKind;
  /** Added to the weights of norms. */
  normPlus: 0 | 1;
  /** Key and default of the norms' eps; a number: no key states it. */
  eps: readonly [key: 'layer_norm_eps' | 'norm_eps' | 'rms_norm_eps', fallback: number] | number;
  /** Share of a head's dimensions that are rotated, unless partial_rotary_factor says otherwise; null: all are. */
  rotated: number | null;
  context: number;
  theta: number;
  /** rope_parameters where none are stated. */
  rope: Json | null;
  qkvBias: Stated;
  outBias: Stated;
  mlpBias: Stated;
  headBias: Stated;
  /** Both blocks of a layer read its input, normalized once. */
  parallel: Stated;
  activation: PlainConfig['activation'];
  queryNorm: 'none' | 'heads';
  /** Left out: each layer has one feed-forward block for all tokens. */
  experts?: ExpertsFamily;
  modules: PlainConfig['modules'];
  attentionNames: NonNullable<PlainConfig['attentionNames']>;
  names: NonNullable<PlainConfig['names']>;
  /** Values of keys that are computed; a missing key counts as the first. */
  only: Readonly<Record<string, readonly unknown[]>>;
  /** Layers have the window of sliding_window, where it is stated. */
  windowed?: boolean;
}

const GATED = { attention: 'self_attn', gate: 'mlp.gate_proj', up: 'mlp.up_proj', down: 'mlp.down_proj' };
const UNGATED = { attention: 'self_attn', up: 'mlp.up_proj', down: 'mlp.down_proj' };
const ATTENTION_BIAS = ['attention_bias', false] as const;
const MLP_BIAS = ['mlp_bias', false] as const;

const PHI: PlainFamily = {
  modelType: 'phi',
  examples: 'Phi-1, Phi-1.5, Phi-2',
  needsNoCode: true,
  norm: 'layer',
  normPlus: 0,
  eps: ['layer_norm_eps', 1e-5],
  rotated: 0.5,
  context: 2048,
  theta: 10000,
  rope: null,
  qkvBias: true,
  outBias: true,
  mlpBias: true,
  headBias: true,
  parallel: true,
  activation: 'gelu-tanh',
  queryNorm: 'none',
  modules: { attention: 'self_attn', up: 'mlp.fc1', down: 'mlp.fc2' },
  attentionNames: { out: 'dense' },
  names: { finalNorm: 'final_layernorm' },
  only: { qk_layernorm: [false], tie_word_embeddings: [false] },
};
/** What most of the others have in common. */
const BASE: PlainFamily = {
  ...PHI,
  rotated: null,
  context: 4096,
  qkvBias: ATTENTION_BIAS,
  outBias: ATTENTION_BIAS,
  mlpBias: false,
  headBias: false,
  parallel: false,
  activation: 'silu',
  modules: GATED,
  attentionNames: {},
  names: {},
  only: {},
};
const ARCEE: PlainFamily = {
  ...BASE,
  modelType: 'arcee',
  examples: 'AFM-4.5B',
  norm: 'rms',
  eps: ['rms_norm_eps', 1e-5],
  mlpBias: MLP_BIAS,
  activation: 'relu-squared',
  modules: UNGATED,
};

const PHIMOE: PlainFamily = {
  ...BASE,
  modelType: 'phimoe',
  examples: 'Phi-3.5-MoE, Phi-mini-MoE, Phi-tiny-MoE',
  needsNoCode: true,
  eps: ['rms_norm_eps', 1e-5],
  context: 131072,
  theta: 1e6,
  headBias: ['lm_head_bias', false],
  windowed: true,
  only: { num_experts_per_tok: [2] },
  experts: {
    block: 'block_sparse_moe',
    projections: { gate: 'w1', up: 'w3', down: 'w2' },
    ffn: 'intermediate_size',
    normed: 'stated',
    jitter: 0.01,
    denseLayers: false,
    shared: false,
  },
};

export const FAMILIES: ReadonlyMap<string, PlainFamily> = new Map<string, PlainFamily>([
  ['PhiForCausalLM', PHI],
  [
    'StableLmForCausalLM',
    {
      ...BASE,
      modelType: 'stablelm',
      examples: 'StableLM 2 1.6B, StableLM Zephyr 3B',
      rotated: 0.25,
      qkvBias: ['use_qkv_bias', false],
      outBias: false,
      parallel: ['use_parallel_residual', false],
      only: { qk_layernorm: [false] },
    },
  ],
  ['ArceeForCausalLM', ARCEE],
  [
    'ApertusForCausalLM',
    {
      ...ARCEE,
      modelType: 'apertus',
      examples: 'Apertus 8B and 70B',
      context: 65536,
      theta: 12e6,
      rope: {
        rope_type: 'llama3',
        factor: 8,
        original_max_position_embeddings: 8192,
        low_freq_factor: 1,
        high_freq_factor: 4,
      },
      mlpBias: false,
      activation: 'xielu',
      queryNorm: 'heads',
      modules: { ...UNGATED, attentionNorm: 'attention_layernorm', mlpNorm: 'feedforward_layernorm' },
      only: { qk_norm: [true], post_norm: [false], mlp_bias: [false] },
    },
  ],
  [
    'NemotronForCausalLM',
    {
      ...ARCEE,
      modelType: 'nemotron',
      examples: 'Minitron 4B and 8B, Nemotron-4',
      norm: 'layer',
      normPlus: 1,
      eps: ['norm_eps', 1e-5],
      rotated: 0.5,
    },
  ],
  [
    'Jais2ForCausalLM',
    {
      ...ARCEE,
      modelType: 'jais2',
      examples: 'Jais 2 8B and 70B',
      norm: 'layer',
      eps: ['layer_norm_eps', 1e-5],
      context: 8192,
      qkvBias: ['attention_bias', true],
      outBias: ['attention_bias', true],
      mlpBias: ['mlp_bias', true],
    },
  ],
  // As its repositories call it, and as transformers does.
  ['PhiMoEForCausalLM', PHIMOE],
  ['PhimoeForCausalLM', PHIMOE],
  [
    'OlmoForCausalLM',
    {
      ...BASE,
      modelType: 'olmo',
      examples: 'OLMo 1B and 7B',
      norm: 'layer-plain',
      eps: 1e-5,
      context: 2048,
      only: { clip_qkv: [null] },
    },
  ],
]);
