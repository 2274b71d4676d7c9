// Converts config.json of T5, mT5 and UMT5 to the configuration of t5.ts and t5-language.ts. Only this file knows its key names.

import type { Activation } from '../../../kernels/activation.ts';
import {
  CONFIG_JSON,
  readConfig,
  type ConfigFile,
  type ConfigReader,
  type Json,
} from '../../config-values.ts';

/** Feed-forward blocks by their names; `gated-gelu` has the approximation by tanh since before it had a name of its own. */
const FEEDS: Readonly<Record<string, T5Feed>> = {
  relu: { gated: false, activation: 'relu' },
  gelu: { gated: false, activation: 'gelu' },
  gelu_new: { gated: false, activation: 'gelu-tanh' },
  silu: { gated: false, activation: 'silu' },
  'gated-gelu': { gated: true, activation: 'gelu-tanh' },
  'gated-gelu_new': { gated: true, activation: 'gelu-tanh' },
  'gated-silu': { gated: true, activation: 'silu' },
};

export type T5Feed =
  | { gated: false; activation: Activation }
  | { gated: true; activation: 'gelu-tanh' | 'silu' };

export type T5Config = ReturnType<typeof readT5Config>;

/** Throws bad_checkpoint and unsupported. */
export function readT5Config(json: Json, file: ConfigFile | string = CONFIG_JSON) {
  const config = readConfig(file, json);
  const feed = config.choice('feed_forward_proj', FEEDS, 'relu');
  checkFeed(config, feed);
  const buckets = config.count('relative_attention_num_buckets', 32);
  const farthest = config.count('relative_attention_max_distance', 128);
  if (buckets % 4 !== 0 || farthest <= buckets / 4) {
    throw config.error(
      'bad_checkpoint',
      'relative_attention_num_buckets',
      `is ${buckets}, and relative_attention_max_distance ${farthest}: a multiple of four is needed, and a distance above a quarter of it; take the values that the model was published with`,
    );
  }
  return {
    vocabulary: config.count('vocab_size', 32128),
    hidden: config.count('d_model', 512),
    heads: config.count('num_heads', 8),
    /** Dimensions of a head; heads · dims may differ from `hidden`. */
    dims: config.count('d_kv', 64),
    ffn: config.count('d_ff', 2048),
    feed,
    layers: config.count('num_layers', 6),
    eps: config.real('layer_norm_epsilon', 1e-6),
    /** Whether each layer has biases of its own, as in UMT5; in T5 all share those of the first. */
    biasOfEach: json['model_type'] === 'umt5',
    /** Number of classes of distances, half of them for keys before the query. */
    buckets,
    /** Distance from which on all keys share a class. */
    farthest,
  };
}

/** Settings that follow from the block's name. */
function checkFeed(config: ConfigReader, { gated, activation }: T5Feed): void {
  const names = { 'gelu-tanh': ['gelu_new'] }[activation as string] ?? [activation];
  config.only({ is_gated_act: [gated], dense_act_fn: names });
}

/** A whole T5. */
export interface T5LanguageConfig extends T5Config {
  architecture: string;
  decoderLayers: number;
  /** Whether states are divided by the square root of `hidden` before the head. */
  scaled: boolean;
  /** Whether config.json ties the head to the embedding, which a checkpoint may have nevertheless. */
  tied: boolean;
}

/** mT5 never divides the states. */
const UNSCALED = 'MT5ForConditionalGeneration';

/** Throws bad_checkpoint and unsupported. */
export function readT5Language(json: Json, className: string, file: ConfigFile): T5LanguageConfig {
  const config = readConfig(file, json);
  const base = readT5Config(json, file);
  const { layers, buckets, farthest } = base;
  if (farthest <= buckets / 2)
    throw config.error(
      'bad_checkpoint',
      'relative_attention_max_distance',
      `is ${farthest}, which is not above half of relative_attention_num_buckets, ${buckets}: take the values that the model was published with`,
    );
  const tied = config.flag('tie_word_embeddings', true);
  return {
    ...base,
    architecture: className,
    decoderLayers: config.count('num_decoder_layers', layers),
    // transformers 5 writes tie_word_embeddings true for all, and this key beside it.
    scaled: className !== UNSCALED && config.flag('scale_decoder_outputs', tied),
    tied,
  };
}

/**
 * Returns the class of each distance from a query to a key, −(tokens − 1) … tokens − 1, for `tokens` tokens: small distances have a class
 * each, larger ones share classes whose widths grow by a constant factor. In a decoder, whose tokens see none behind them, all classes are for those
 * before. Source: the T5 paper, section 2.1.
 */
export function distanceBuckets(
  { buckets, farthest }: Pick<T5Config, 'buckets' | 'farthest'>,
  tokens: number,
  { causal = false } = {},
): Uint32Array<ArrayBuffer> {
  const half = causal ? buckets : buckets / 2;
  const exact = half / 2;
  return Uint32Array.from({ length: 2 * tokens - 1 }, (_, i) => {
    const distance = i - (tokens - 1);
    const away = Math.abs(distance);
    const share = Math.fround(Math.log(Math.fround(away / exact))) / Math.log(farthest / exact);
    const grown = exact + Math.trunc(Math.fround(Math.fround(share) * (half - exact)));
    if (causal && distance > 0) return 0;
    return (distance > 0 ? half : 0) + (away < exact ? away : Math.min(grown, half - 1));
  });
}
