// Converts config.json of a ZImageTransformer2DModel to the configuration of z-image.ts. Only this file knows its key names.

import { checkHeads, ConfigError, readConfig, type Json } from '../config-values.ts';

export interface ZImageConfig {
  /** Channels of latents. */
  channels: number;
  hidden: number;
  ffn: number;
  heads: number;
  dims: number;
  /** RMSNorm on query and key heads. */
  headNorm: boolean;
  layers: number;
  /** Number of layers that image and caption pass separately before they are joined. */
  refiners: number;
  eps: number;
  /** Columns of the caption's states. */
  captionDims: number;
  /** Columns of the time embedding. */
  timeDims: number;
  /** Factor on the share of noise that is already removed, 0 … 1. */
  timeScale: number;
  rope: {
    theta: number;
    /** Dimensions of a head that are rotated by caption and frame, by row, and by column. */
    axes: readonly number[];
    /** Number of positions on each axis. */
    lengths: readonly number[];
  };
}

const AXES = 3;

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  all_patch_size: [[2]],
  all_f_patch_size: [[1]],
  siglip_feat_dim: [null],
};

export function readZImageConfig(json: Json, file = 'config.json'): ZImageConfig {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const hidden = config.count('dim', 3840);
  const heads = checkHeads(file, hidden, config.count('n_heads', 30));
  const axes = config.list('axes_dims', [32, 48, 48]);
  const lengths = config.list('axes_lens', [1024, 512, 512]);
  const dims = hidden / heads;
  const fits =
    axes.length === AXES &&
    lengths.length === AXES &&
    axes.every((size) => size % 2 === 0) &&
    axes.reduce((sum, size) => sum + size, 0) === dims;
  if (!fits) {
    throw new ConfigError(
      'bad_checkpoint',
      file,
      `axes_dims ${JSON.stringify(axes)} and axes_lens ${JSON.stringify(lengths)} must be three each, and the first be even and make up heads of ${hidden} / ${heads} dimensions`,
    );
  }
  return {
    channels: config.count('in_channels', 16),
    hidden,
    ffn: Math.floor((hidden / 3) * 8),
    heads,
    dims,
    headNorm: config.flag('qk_norm', true),
    layers: config.count('n_layers', 30),
    refiners: config.count('n_refiner_layers', 2),
    eps: config.real('norm_eps', 1e-5),
    captionDims: config.count('cap_feat_dim', 2560),
    timeDims: Math.min(hidden, 256),
    timeScale: config.real('t_scale', 1000),
    rope: { theta: config.real('rope_theta', 256), axes, lengths },
  };
}
