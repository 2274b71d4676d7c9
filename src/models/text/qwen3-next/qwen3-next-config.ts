// Converts config.json of Qwen3-Next and of the text models of Qwen3.5 and Qwen3.6 to the configuration of qwen3-next.ts. Keys that
// decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads, readKinds } from '../blocks/decoder-config.ts';
import { readExperts, type ExpertsFamily } from '../blocks/experts-config.ts';
import { deltaColumns, deltaNetState, type DeltaNetConfig } from '../blocks/gated-delta-net.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export type Qwen3NextConfig = DecoderModel & AttentionConfig & MlpConfig & DeltaNetConfig;

interface Family {
  /** model_type of config.json, and of a text_config. */
  modelType: string;
  examples: string;
  /** Values of transformers' configuration class for keys that are left out. */
  defaults: Json;
  experts: ExpertsFamily | null;
}

const DEFAULTS = {
  num_attention_heads: 16,
  head_dim: 256,
  partial_rotary_factor: 0.25,
  max_position_embeddings: 32768,
  linear_conv_kernel_dim: 4,
  linear_key_head_dim: 128,
  linear_value_head_dim: 128,
  linear_num_key_heads: 16,
  linear_num_value_heads: 32,
};
const EXPERTS = {
  moe_intermediate_size: 512,
  shared_expert_intermediate_size: 512,
};
const EXPERTS_FAMILY: ExpertsFamily = {
  block: 'mlp',
  projections: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj', gateUp: 'gate_up_proj' },
  gateUpOrder: 'halves',
  ffn: 'moe_intermediate_size',
  normed: true,
  denseLayers: false,
  shared: true,
};

export const QWEN3_NEXTS: Readonly<Record<string, Family>> = {
  Qwen3NextForCausalLM: {
    modelType: 'qwen3_next',
    examples: 'Qwen3-Next-80B-A3B',
    defaults: {
      ...DEFAULTS,
      ...EXPERTS,
      vocab_size: 151936,
      hidden_size: 2048,
      intermediate_size: 5632,
      num_hidden_layers: 48,
      num_key_value_heads: 2,
      num_experts: 512,
      num_experts_per_tok: 10,
      norm_topk_prob: true,
    },
    experts: { ...EXPERTS_FAMILY, normed: 'stated', denseLayers: true },
  },
  Qwen3_5ForCausalLM: {
    modelType: 'qwen3_5_text',
    examples: 'Qwen3.5 0.8B to 27B, Qwen3.6-27B',
    defaults: {
      ...DEFAULTS,
      vocab_size: 248320,
      hidden_size: 4096,
      intermediate_size: 12288,
      num_hidden_layers: 32,
      num_key_value_heads: 4,
    },
    experts: null,
  },
  Qwen3_5MoeForCausalLM: {
    modelType: 'qwen3_5_moe_text',
    examples: 'Qwen3.5-35B-A3B to 397B-A17B, Qwen3.6-35B-A3B',
    defaults: {
      ...DEFAULTS,
      ...EXPERTS,
      vocab_size: 248320,
      hidden_size: 2048,
      num_hidden_layers: 40,
      num_key_value_heads: 2,
      num_experts: 256,
      num_experts_per_tok: 8,
    },
    experts: EXPERTS_FAMILY,
  },
};

/** Errors: bad_checkpoint; unsupported for settings that qwen3-next.ts does not compute. */
export function readQwen3NextConfig(json: Json, architecture: string, file = CONFIG_JSON): Qwen3NextConfig {
  const family = QWEN3_NEXTS[architecture]!;
  const stated = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
  const config = readConfig(file, { ...family.defaults, ...stated });
  config.only({ hidden_act: ['silu'], attn_output_gate: [true] });
  const hidden = config.count('hidden_size');
  const count = config.count('num_hidden_layers');
  const heads = { ...readHeads(config, hidden, { kvHeads: null, dims: null, step: 4 }), gated: true };
  const rope = readRope(config, heads.dims, { partial: true });
  const delta = readDelta(config);
  const { all, values } = deltaColumns(delta);
  const experts = family.experts && readExperts(config, family.experts, count);
  const slot = deltaNetState(delta);
  const bias = config.flag('attention_bias', false);
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden,
    // A model in which each layer has experts states no other width.
    ffn: experts?.layers.every(Boolean) ? experts.ffn : config.count('intermediate_size'),
    heads: rope.dims < heads.dims ? { ...heads, rotated: rope.dims } : heads,
    widest: Math.max(all + values, 2 * (heads.heads + heads.kvHeads) * heads.dims),
    delta,
    layers: readLinear(config, count).map((isLinear) =>
      isLinear ? { window: null, rope: null, slot } : { window: null, rope: 0 },
    ),
    ropes: [rope],
    eps: config.real('rms_norm_eps', 1e-6),
    normPlus: 1,
    context: config.count('max_position_embeddings'),
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: bias,
    outBias: bias,
    queryNorm: 'heads',
    experts,
  };
}

/** The configuration with the one layer of the heads that predict several tokens ahead: full attention, and experts if the model has any. */
export function mtpConfig(config: Qwen3NextConfig): Qwen3NextConfig {
  const { experts } = config;
  return {
    ...config,
    layers: [{ window: null, rope: 0 }],
    experts: experts && { ...experts, layers: experts.layers.slice(0, 1) },
  };
}

function readDelta(config: ConfigReader): Qwen3NextConfig['delta'] {
  const delta = {
    keyHeads: config.count('linear_num_key_heads'),
    keyDims: config.count('linear_key_head_dim'),
    heads: config.count('linear_num_value_heads'),
    dims: config.count('linear_value_head_dim'),
    taps: config.count('linear_conv_kernel_dim'),
    // The order of GGUF files.
    tiled: config.flag('linear_value_heads_tiled', false),
  };
  if (delta.heads % delta.keyHeads !== 0) {
    throw config.error(
      'bad_checkpoint',
      'linear_num_value_heads',
      `is ${delta.heads}, no multiple of ${delta.keyHeads} linear_num_key_heads: take the values that the model was published with`,
    );
  }
  for (const [key, dims] of [
    ['linear_key_head_dim', delta.keyDims],
    ['linear_value_head_dim', delta.dims],
  ] as const) {
    if (dims % 4 !== 0 || dims > 256)
      throw config.error(
        'unsupported',
        key,
        `${dims} is not built; choose a model with a multiple of 4 up to 256`,
      );
  }
  return delta;
}

/** Whether each layer is linear attention, by layer_types or full_attention_interval. */
function readLinear(config: ConfigReader, layers: number): boolean[] {
  const every = config.count('full_attention_interval', 4);
  const standard = Array.from({ length: layers }, (_, i) => (i + 1) % every !== 0);
  return readKinds(config, layers, 'linear_attention') ?? standard;
}
