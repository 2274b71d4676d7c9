// Converts config.json of a T5 or UMT5 encoder to the configuration of t5.ts. Only this file knows its key names.

import { readConfig, type Json } from '../../config-values.ts';

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  feed_forward_proj: ['gated-gelu'],
  is_gated_act: [true],
  dense_act_fn: ['gelu_new'],
};

export type T5Config = ReturnType<typeof readT5Config>;

/** Throws bad_checkpoint and unsupported. */
export function readT5Config(json: Json, file = 'config.json') {
  const config = readConfig(file, { feed_forward_proj: 'relu', ...json });
  config.only(NEUTRAL);
  const buckets = config.count('relative_attention_num_buckets', 32);
  const farthest = config.count('relative_attention_max_distance', 128);
  if (buckets % 4 !== 0 || farthest <= buckets / 4) {
    throw config.error(
      'bad_checkpoint',
      'relative_attention_num_buckets',
      `is ${buckets}, and relative_attention_max_distance ${farthest}: a multiple of four is needed, and a distance above a quarter of it`,
    );
  }
  return {
    vocabulary: config.count('vocab_size', 32128),
    hidden: config.count('d_model', 512),
    heads: config.count('num_heads', 8),
    /** Dimensions of a head; heads · dims may differ from `hidden`. */
    dims: config.count('d_kv', 64),
    ffn: config.count('d_ff', 2048),
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

/**
 * Returns the class of each distance from a query to a key, −(tokens − 1) … tokens − 1, for `tokens` tokens: small distances have a class
 * each, larger ones share classes whose widths grow by a constant factor. Source: the T5 paper, section 2.1.
 */
export function distanceBuckets({ buckets, farthest }: T5Config, tokens: number): Uint32Array<ArrayBuffer> {
  const half = buckets / 2;
  const exact = half / 2;
  return Uint32Array.from({ length: 2 * tokens - 1 }, (_, i) => {
    const distance = i - (tokens - 1);
    const away = Math.abs(distance);
    const share = Math.fround(Math.log(Math.fround(away / exact))) / Math.log(farthest / exact);
    const grown = exact + Math.trunc(Math.fround(Math.fround(share) * (half - exact)));
    return (distance > 0 ? half : 0) + (away < exact ? away : Math.min(grown, half - 1));
  });
}
