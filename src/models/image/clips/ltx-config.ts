// Converts config.json of a LTXVideoTransformer3DModel to the configuration of ltx.ts. Only this file knows its key names.

import { readConfig, type Json } from '../../config-values.ts';
import { readHeads, requireHidden, type Heads } from '../transformer-config.ts';

export interface LTXConfig extends Heads {
  /** Channels of latents. */
  channels: number;
  layers: number;
  /** Columns of the states of the text. */
  textDims: number;
  /** Whether queries, keys and values have biases. */
  biased: boolean;
  /** Whether the results of attention have. */
  outBiased: boolean;
  eps: number;
}

/** Throws bad_checkpoint and unsupported. */
export function readLTXConfig(json: Json, file = 'config.json'): LTXConfig {
  const config = readConfig(file, json);
  config.only({
    patch_size: [1],
    patch_size_t: [1],
    qk_norm: ['rms_norm_across_heads'],
    activation_fn: ['gelu-approximate'],
    norm_elementwise_affine: [false],
  });
  const sizes = readHeads(config, file, { heads: 32, dims: 64 });
  requireHidden(config, 'cross_attention_dim', 2048, sizes);
  const channels = config.count('in_channels', 128);
  if (json['out_channels'] != null) config.only({ out_channels: [channels] });
  return {
    ...sizes,
    channels,
    layers: config.count('num_layers', 28),
    textDims: config.count('caption_channels', 4096),
    biased: config.flag('attention_bias', true),
    outBiased: config.flag('attention_out_bias', true),
    eps: config.real('norm_eps', 1e-6),
  };
}
