// Converts config.json of Falcon-H1 to the configuration of falcon-h1.ts. Keys that decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads } from '../blocks/decoder-config.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import { mambaColumns, mambaState, type Mamba2Config, type MambaShape } from '../blocks/mamba2.ts';
import { readMamba } from '../blocks/mamba2-config.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export type FalconH1Config = DecoderModel &
  AttentionConfig &
  MlpConfig &
  Mamba2Config & {
    /** Factor on what attention adds. */
    attentionOut: number;
  };

/** Values of transformers' configuration class for keys that are left out. */
const DEFAULTS = { vocab_size: 128000, hidden_size: 4096, rms_norm_eps: 1e-5 };
/** Columns of the Mamba-2 block where mamba_d_ssm is left out; null there means mamba_expand times the hidden size. */
const INNER = 1024;

/** Errors: bad_checkpoint; unsupported for settings that falcon-h1.ts does not compute. */
export function readFalconH1Config(json: Json, architecture: string, file = CONFIG_JSON): FalconH1Config {
  const stated = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
  const config = readConfig(file, { ...DEFAULTS, ...stated });
  config.only({ hidden_act: ['silu'] });
  const hidden = config.count('hidden_size');
  const layers = config.count('num_hidden_layers', 32);
  const heads = readHeads(config, hidden, { heads: 32, kvHeads: 8, dims: null });
  const context = config.count('max_position_embeddings', 8192);
  const mamba = readBlock(config, json, hidden);
  const slot = mambaState(mamba);
  const bias = config.flag('attention_bias', false);
  const [gate, product] = config.reals('mlp_multipliers', 2) ?? [1, 1];
  const into = config.real('attention_in_multiplier', 1);
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden,
    ffn: config.count('intermediate_size', 14336),
    // Queries and keys both have the factor on attention's input.
    heads: { ...heads, scale: (into ** 2 * config.real('key_multiplier', 1)) / Math.sqrt(heads.dims) },
    attentionOut: into * config.real('attention_out_multiplier', 1),
    widest: mambaColumns(mamba),
    mamba,
    layers: Array.from({ length: layers }, () => ({ window: null, rope: 0, slot, pages: true })),
    ropes: [readRope(config, heads.dims, { context })],
    names: { finalNorm: 'final_layernorm' },
    eps: config.real('rms_norm_eps'),
    embeddingScale: config.real('embedding_multiplier', 1),
    logitScale: config.real('lm_head_multiplier', 1),
    context,
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: bias,
    outBias: bias,
    mlpBias: config.flag('mlp_bias', false),
    mlpFactors: { gate: gate!, product: product! },
  };
}

function readBlock(config: ConfigReader, json: Json, hidden: number): MambaShape {
  const inner = json['mamba_d_ssm'] === null ? undefined : config.count('mamba_d_ssm', INNER);
  const into = config.real('ssm_in_multiplier', 1);
  const parts = config.reals('ssm_multipliers', 5) ?? [1, 1, 1, 1, 1];
  const [gates, columns, b, c, steps] = parts.map((one) => into * one) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const isBefore = config.flag('mamba_norm_before_gate', true);
  return {
    ...readMamba(config, hidden, inner),
    outBias: config.flag('projectors_bias', false),
    norm: config.flag('mamba_rms_norm', false) ? (isBefore ? 'before gates' : 'gated') : 'none',
    factors: { gates, columns, b, c, steps, out: config.real('ssm_out_multiplier', 1) },
  };
}
