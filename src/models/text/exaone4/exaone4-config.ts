// Converts config.json of EXAONE 4 to the configuration of olmo.ts, whose norms follow each block, too. Keys that decoders share are read in
// decoder-config.ts.

import { CONFIG_JSON, readConfig, shown, type ConfigReader, type Json } from '../../config-values.ts';
import { readHeads, readWindowed } from '../blocks/decoder-config.ts';
import type { DecoderLayer } from '../blocks/decoder.ts';
import { readRope } from '../blocks/rope-config.ts';
import type { OlmoConfig } from '../olmo/olmo-config.ts';

/** Errors: bad_checkpoint; unsupported for settings that olmo.ts does not compute. */
export function readExaone4Config(json: Json, architecture: string, file = CONFIG_JSON): OlmoConfig {
  const config = readConfig(file, json);
  config.only({ hidden_act: ['silu', 'swish'] });
  const hidden = config.count('hidden_size', 4096);
  const heads = readHeads(config, hidden, { heads: 32, kvHeads: 32, dims: null });
  const context = config.count('max_position_embeddings', 2048);
  return {
    architecture,
    vocabulary: config.count('vocab_size', 102400),
    hidden,
    ffn: config.count('intermediate_size', 16384),
    heads,
    layers: readLayers(config, config.count('num_hidden_layers', 32)),
    ropes: [readRope(config, heads.dims, { context })],
    eps: config.real('rms_norm_eps', 1e-5),
    context,
    tied: config.flag('tie_word_embeddings', false),
    qkvBias: false,
    outBias: false,
    queryNorm: 'heads',
  };
}

/** In a model with windows, layers that see all tokens have no positions. */
function readLayers(config: ConfigReader, count: number): DecoderLayer[] {
  const isFull = config.values['sliding_window'] === null;
  const window = isFull ? null : config.count('sliding_window', 4096);
  const windowed = readWindowed(config, count) ?? readPattern(config, count, isFull);
  if (!isFull) return windowed.map((is) => ({ window: is ? window : null, rope: is ? 0 : null }));
  if (!windowed.includes(true)) return windowed.map(() => ({ window: null, rope: 0 }));
  const problem =
    'has sliding_attention, and sliding_window is null: take the values that the model was published with';
  throw config.error('bad_checkpoint', 'layer_types', problem);
}

/** A number n, for one layer of n that sees all tokens, or letters for each of so many layers: L for windowed ones, G for the others. */
function readPattern(config: ConfigReader, count: number, isFull: boolean): boolean[] {
  const pattern = config.values['sliding_window_pattern'];
  if (isFull) return Array<boolean>(count).fill(false);
  if (typeof pattern !== 'string') {
    const every = config.count('sliding_window_pattern', 4);
    return Array.from({ length: count }, (_, i) => (i + 1) % every !== 0);
  }
  if (/^[LG]+$/.test(pattern))
    return Array.from({ length: count }, (_, i) => pattern[i % pattern.length] === 'L' && i + 1 < count);
  const problem = `is ${shown(pattern)}, a number or a text of the letters L and G is needed`;
  throw config.error('bad_checkpoint', 'sliding_window_pattern', problem);
}
