// Converts config.json of a Lumina2Transformer2DModel to the configuration of lumina2.ts. Only this file knows its key names.

import { checkHeads, readConfig, type Json } from '../config-values.ts';
import type { NextDitShape } from './next-dit-block.ts';

export interface Lumina2Config extends NextDitShape {
  /** Channels of latents. */
  channels: number;
  kvHeads: number;
  layers: number;
  /** Number of layers that image and caption pass separately before they are joined. */
  refiners: number;
  /** Columns of the caption's states. */
  captionDims: number;
  /** Dimensions of a head that are rotated by caption, by row, and by column. */
  axes: readonly number[];
  /** Number of positions on each axis. */
  lengths: readonly number[];
  /** Latents along a side of the images in training. */
  sampleSize: number;
}

const AXES = 3;
const MOST_TIME_DIMS = 1024;

/** Throws bad_checkpoint and unsupported. */
export function readLumina2Config(json: Json, file = 'config.json'): Lumina2Config {
  const config = readConfig(file, json);
  const channels = config.count('in_channels', 16);
  config.only({ patch_size: [2], out_channels: [channels] });
  const hidden = config.count('hidden_size', 2304);
  const heads = checkHeads(file, hidden, config.count('num_attention_heads', 24));
  const dims = hidden / heads;
  const kvHeads = json['num_kv_heads'] === null ? heads : config.count('num_kv_heads', 8);
  if (heads % kvHeads !== 0)
    throw config.error(
      'bad_checkpoint',
      'num_kv_heads',
      `is ${kvHeads}, which does not divide ${heads} heads`,
    );
  const axes = config.list('axes_dim_rope', [32, 32, 32]);
  const lengths = config.list('axes_lens', [300, 512, 512]);
  const rotated = axes.reduce((sum, size) => sum + size, 0);
  if (axes.length !== AXES || axes.some((size) => size % 2 !== 0) || rotated !== dims)
    throw config.error(
      'bad_checkpoint',
      'axes_dim_rope',
      `is ${JSON.stringify(axes)}, and three even numbers are needed that make up heads of ${hidden} / ${heads} dimensions`,
    );
  if (lengths.length !== AXES)
    throw config.error(
      'bad_checkpoint',
      'axes_lens',
      `is ${JSON.stringify(lengths)}, and three numbers are needed`,
    );
  const multiple = config.count('multiple_of', 256);
  const inner = Math.trunc(config.real('ffn_dim_multiplier', 1) * 4 * hidden);
  return {
    channels,
    hidden,
    ffn: multiple * Math.ceil(inner / multiple),
    heads,
    kvHeads,
    dims,
    headNorm: true,
    layers: config.count('num_layers', 26),
    refiners: config.count('num_refiner_layers', 2),
    eps: config.real('norm_eps', 1e-5),
    captionDims: config.count('cap_feat_dim', 1024),
    timeDims: Math.min(hidden, MOST_TIME_DIMS),
    axes,
    lengths,
    sampleSize: config.count('sample_size', 128),
  };
}
