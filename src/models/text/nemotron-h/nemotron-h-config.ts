// Converts config.json of Nemotron-H to the configuration of nemotron-h.ts. Keys that decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, shown, type ConfigReader, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads } from '../blocks/decoder-config.ts';
import type { DecoderLayer } from '../blocks/decoder.ts';
import { readExperts, type ExpertsConfig, type ExpertsFamily } from '../blocks/experts-config.ts';
import { mambaColumns, mambaState, type Mamba2Config, type MambaShape } from '../blocks/mamba2.ts';
import { checkedMamba, readLayerKinds, readLimits, type LayerKind } from '../blocks/mamba2-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export type NemotronHConfig = DecoderModel &
  AttentionConfig &
  Mamba2Config & {
    /** The one block of each layer. */
    kinds: readonly LayerKind[];
  };

/** Values of transformers' configuration class for keys that are left out. */
const DEFAULTS = {
  vocab_size: 131072,
  hidden_size: 4096,
  num_key_value_heads: 8,
  intermediate_size: 21504,
  max_position_embeddings: 4096,
  mamba_num_heads: 128,
  mamba_head_dim: 64,
  n_groups: 8,
  ssm_state_size: 128,
  conv_kernel: 4,
  layer_norm_epsilon: 1e-5,
  n_routed_experts: 8,
  num_experts_per_tok: 2,
  moe_intermediate_size: 7688,
  moe_shared_expert_intermediate_size: 7688,
  norm_topk_prob: true,
};

export const EXPERTS: ExpertsFamily = {
  block: 'mixer',
  projections: { up: 'up_proj', down: 'down_proj' },
  ffn: 'moe_intermediate_size',
  normed: 'stated',
  scores: 'sigmoid',
  choiceBias: 'gate.e_score_correction_bias',
  groupsBy: 2,
  scaled: true,
  denseLayers: false,
  shared: false,
};

/** Errors: bad_checkpoint; unsupported for settings that nemotron-h.ts does not compute. */
export function readNemotronHConfig(json: Json, architecture: string, file = CONFIG_JSON): NemotronHConfig {
  const stated = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
  const config = readConfig(file, { ...DEFAULTS, ...stated });
  config.only({ mlp_hidden_act: ['relu2'], mamba_hidden_act: ['silu'], mlp_bias: [false] });
  const hidden = config.count('hidden_size');
  const kinds = readBlocks(config);
  const heads = readHeads(config, hidden, { heads: 32, kvHeads: 8, dims: 128 });
  const mamba = readMixer(config);
  const bias = config.flag('attention_bias', false);
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden,
    ffn: config.count('intermediate_size'),
    heads,
    widest: mambaColumns(mamba),
    mamba,
    kinds,
    layers: kinds.map((kind) => layerOf(kind, mamba)),
    ropes: [],
    names: { prefix: 'backbone.', embedding: 'embeddings', finalNorm: 'norm_f' },
    // Heads that predict several tokens ahead.
    ignored: /^mtp\./,
    eps: config.real('layer_norm_epsilon'),
    context: config.count('max_position_embeddings'),
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: bias,
    outBias: bias,
    experts: kinds.includes('moe') ? readMixture(config, kinds) : null,
  };
}

function layerOf(kind: LayerKind, mamba: MambaShape): DecoderLayer {
  const layer = { window: null, rope: null };
  if (kind === 'mamba') return { ...layer, slot: mambaState(mamba) };
  return kind === 'attention' ? layer : { ...layer, pages: false };
}

const LETTERS: Readonly<Record<string, LayerKind>> = { M: 'mamba', E: 'moe', '*': 'attention', '-': 'mlp' };

/** The blocks by layers_block_type or, in earlier files, hybrid_override_pattern. num_hidden_layers may say otherwise, and does not count. */
function readBlocks(config: ConfigReader): LayerKind[] {
  const kinds = readLayerKinds(config, ['mamba', 'moe', 'attention', 'mlp']);
  if (kinds !== null) return kinds;
  const key = 'hybrid_override_pattern';
  const pattern = config.values[key];
  if (typeof pattern === 'string' && /^[ME*-]{1,1024}$/.test(pattern))
    return Array.from(pattern, (letter) => LETTERS[letter]!);
  throw config.error(
    'bad_checkpoint',
    key,
    `is ${shown(pattern)}, a letter of M, E, * and - for each layer is needed`,
  );
}

/**
 * Steps are limited by time_step_limit, in prompts and behind them. transformers 5 limits those of prompts by time_step_min instead; the two agree
 * where no step is below it.
 */
function readMixer(config: ConfigReader): MambaShape {
  const bias = config.flag('use_bias', false);
  const shape: MambaShape = {
    heads: config.count('mamba_num_heads'),
    dims: config.count('mamba_head_dim'),
    groups: config.count('n_groups'),
    stateDims: config.count('ssm_state_size'),
    taps: config.count('conv_kernel'),
    convBias: config.flag('use_conv_bias', true),
    bias,
    outBias: bias,
    limits: readLimits(config),
    eps: config.real('layer_norm_epsilon'),
    norm: 'gated',
  };
  return checkedMamba(config, shape, {
    dims: 'mamba_head_dim',
    stateDims: 'ssm_state_size',
    groups: 'n_groups',
  });
}

function readMixture(config: ConfigReader, kinds: readonly LayerKind[]): ExpertsConfig {
  const hasLatent = config.values['moe_latent_size'] !== undefined;
  return {
    ...readExperts(config, EXPERTS, kinds.length),
    layers: kinds.map((kind) => kind === 'moe'),
    ungated: 'relu-squared',
    latent: hasLatent ? config.count('moe_latent_size') : null,
    shared: config.count('moe_shared_expert_intermediate_size'),
    plainShared: true,
  };
}
