// Converts config.json of Nemotron's pruned Llamas (DeciLM) to the configuration of deci.ts: block_configs says of each layer what was left of
// it. Keys that decoders share are read in decoder-config.ts.

import { isCount, isReal } from '../../config-bounds.ts';
import {
  CONFIG_JSON,
  isJsonObject,
  readConfig,
  shown,
  type ConfigReader,
  type Json,
} from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { readHeads } from '../blocks/decoder-config.ts';
import type { DecoderLayer } from '../blocks/decoder.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { AttentionConfig } from '../blocks/self-attention.ts';

export interface DeciConfig extends DecoderModel, AttentionConfig, MlpConfig {
  blocks: readonly DeciBlock[];
}

/** What a layer has. */
export interface DeciBlock {
  /** Key and value heads; null: the layer has no attention. */
  kvHeads: number | null;
  /** Width of the feed-forward block; null: the layer has none. */
  ffn: number | null;
}

/** Widths are rounded up to a multiple of it. */
const WIDTH_STEP = 256;
const MOST_MULTIPLE = 64;
const MOST_WIDTH = 2 ** 20;
/** Settings of attention that may only be off. */
const ATTENTION_OFF = [
  'replace_with_linear',
  'num_sink_tokens',
  'sparsify',
  'unshifted_sink',
  'window_length',
  'use_prefill_window_in_sink_attention',
];
const FFN_OFF = ['replace_with_linear', 'sparsify'];

/** Errors: bad_checkpoint; unsupported for settings that deci.ts does not compute. */
export function readDeciConfig(json: Json, architecture: string, file = CONFIG_JSON): DeciConfig {
  const config = readConfig(file, json);
  config.only({ hidden_act: ['silu', 'swish'] });
  const hidden = config.count('hidden_size');
  const heads = readHeads(config, hidden, { kvHeads: null, dims: null });
  const blocks = readBlocks(config, config.count('num_hidden_layers'), { hidden, heads: heads.heads });
  const context = config.count('max_position_embeddings', 2048);
  const bias = config.flag('attention_bias', false);
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden,
    ffn: Math.max(...blocks.map(({ ffn }) => ffn ?? 1)),
    heads,
    blocks,
    layers: blocks.map(({ kvHeads }): DecoderLayer => {
      if (kvHeads === null) return { window: null, rope: null, pages: false };
      return { window: null, rope: 0, heads: { ...heads, kvHeads } };
    }),
    ropes: [readRope(config, heads.dims, { context })],
    eps: config.real('rms_norm_eps', 1e-6),
    context,
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: bias,
    outBias: bias,
    mlpBias: config.flag('mlp_bias', false),
  };
}

interface Sizes {
  hidden: number;
  heads: number;
}

function readBlocks(config: ConfigReader, count: number, sizes: Sizes): DeciBlock[] {
  const stated = config.values['block_configs'];
  if (!Array.isArray(stated) || stated.length !== count) {
    const problem = `is ${shown(stated)}, a list with an entry for each of ${count} layers is needed`;
    throw config.error('bad_checkpoint', 'block_configs', problem);
  }
  return stated.map((one: unknown) => readBlock(config, one, sizes));
}

function readBlock(config: ConfigReader, one: unknown, { hidden, heads }: Sizes): DeciBlock {
  const [attention, ffn] = isJsonObject(one) ? [one['attention'], one['ffn']] : [];
  if (!isJsonObject(attention) || !isJsonObject(ffn))
    throw config.error('bad_checkpoint', 'block_configs', `has ${shown(one)}, attention and ffn are needed`);
  refuseOn(config, attention, ATTENTION_OFF);
  refuseOn(config, ffn, FFN_OFF);
  return {
    kvHeads: attention['no_op'] === true ? null : heads / groupOf(config, attention, heads),
    ffn: ffn['no_op'] === true ? null : widthOf(config, ffn, hidden),
  };
}

function refuseOn(config: ConfigReader, block: Json, keys: readonly string[]): void {
  const on = keys.find((key) => block[key] != null && block[key] !== false);
  if (on === undefined) return;
  const problem = `has ${on} ${shown(block[on])}, which is not computed; choose a model without it`;
  throw config.error('unsupported', 'block_configs', problem);
}

/** Queries of a key. */
function groupOf(config: ConfigReader, { n_heads_in_group: group }: Json, heads: number): number {
  if (isCount(group, [1, heads]) && heads % group === 0) return group;
  const problem = `has n_heads_in_group ${shown(group)}, a divisor of ${heads} is needed`;
  throw config.error('bad_checkpoint', 'block_configs', problem);
}

/** Two thirds of a multiple of the hidden size, rounded up; GGUF files have the width itself. */
function widthOf(
  config: ConfigReader,
  { ffn_mult: multiple, intermediate_size: width }: Json,
  hidden: number,
) {
  if (isCount(width, [1, MOST_WIDTH])) return width;
  if (isReal(multiple, [1e-3, MOST_MULTIPLE]))
    return Math.ceil(Math.trunc((2 * multiple * hidden) / 3) / WIDTH_STEP) * WIDTH_STEP;
  const problem = `has ffn_mult ${shown(multiple)}, a number from 0.001 to ${MOST_MULTIPLE} is needed`;
  throw config.error('bad_checkpoint', 'block_configs', problem);
}
