// Converts config.json of Gemma 3n to the configuration of gemma3n.ts. Keys that decoders share are read in decoder-config.ts.

import { CONFIG_JSON, readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import { readHeads, readLayers, readRopes } from '../blocks/decoder-config.ts';
import { readShares } from '../gemma4/gemma4-config.ts';
import type { Gemma3nConfig } from './gemma3n.ts';
import { normalQuantile } from './normal-shares.ts';

/** One layer in every `PATTERN` sees all tokens if layer_types is missing. */
const PATTERN = 5;
/** What closes gates where no pattern is stated: so many layers, if there are more, and that share of their gates. */
const SPARSE = { layers: 10, share: 0.95 };
/** Columns of a block of packed weights, of which each stream has whole ones. */
const BLOCK = 32;

/** Errors: bad_checkpoint; unsupported for settings that gemma3n.ts does not compute. */
export function readGemma3nConfig(json: Json, architecture: string, file = CONFIG_JSON): Gemma3nConfig {
  const config = readConfig(file, json);
  config.only({
    hidden_activation: ['gelu_pytorch_tanh'],
    altup_active_idx: [0],
    altup_num_inputs: [4],
    altup_correct_scale: [true],
  });
  const hidden = readMultiple(config, 'hidden_size', 2048, BLOCK);
  const columns = readMultiple(config, 'hidden_size_per_layer_input', 256, 4);
  const depth = config.count('num_hidden_layers', 35);
  const heads = { ...readHeads(config, hidden, { heads: 8, kvHeads: 2, dims: 256 }), scale: 1 };
  const window = config.count('sliding_window', 512);
  const layers = readLayers(config, depth, { pattern: PATTERN, window, localRope: true });
  const shares = readShares(
    config,
    layers.map((layer) => layer.window === null),
    15,
  );
  const ffns = config.each('intermediate_size', depth, 16384);
  const context = config.count('max_position_embeddings', 32768);
  const bias = config.flag('attention_bias', false);
  return {
    architecture,
    vocabulary: config.count('vocab_size', 262400),
    hidden,
    ffn: Math.max(...ffns),
    ffns,
    openFrom: readOpenFrom(config, depth),
    rank: config.count('laurel_rank', 64),
    entering: { vocabulary: config.count('vocab_size_per_layer_input', 262144), columns, padding: 0 },
    widest: Math.max(4 * hidden, 2 * Math.max(...ffns), columns * depth),
    heads,
    layers: layers.map((layer, i) => {
      const from = shares[i];
      return from === undefined ? layer : { ...layer, heads: { ...heads, kv: 'none' }, shares: from };
    }),
    eps: config.real('rms_norm_eps', 1e-6),
    ropes: readRopes(config, heads.dims, {
      context,
      theta: 1e6,
      localTheta: config.real('rope_local_base_freq', 10000),
    }),
    context,
    tied: config.flag('tie_word_embeddings', true),
    qkvBias: bias,
    outBias: bias,
    queryNorm: 'heads',
    valueNorm: true,
    embeddingScale: Math.sqrt(hidden),
    logitCap: json['final_logit_softcapping'] === null ? null : config.real('final_logit_softcapping', 30),
  };
}

function readMultiple(
  config: ConfigReader,
  key: 'hidden_size' | 'hidden_size_per_layer_input',
  fallback: number,
  of: number,
): number {
  const size = config.count(key, fallback);
  if (size > 0 && size % of === 0) return size;
  throw config.error('unsupported', key, `${size} is not built; choose a model that has a multiple of ${of}`);
}

/** How many standard deviations above their mean a layer's gates begin to open; null: all gates are open. */
function readOpenFrom(config: ConfigReader, depth: number): (number | null)[] {
  const sparse = depth > SPARSE.layers ? SPARSE.layers : 0;
  const standard = Array.from({ length: depth }, (_, i) => (i < sparse ? SPARSE.share : 0));
  const shares = config.reals('activation_sparsity_pattern', depth) ?? standard;
  return shares.map((share) => (share === 0 ? null : normalQuantile(share)));
}
