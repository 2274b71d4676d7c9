// Converts config.json of a QwenImageTransformer2DModel to the configuration of qwen-image.ts. Only this file knows its key names.

import { readConfig, type Json } from '../config-values.ts';
import type { JointShape } from './joint-block.ts';
import { readAxes, readHeads } from './transformer-config.ts';

export interface QwenImageConfig extends JointShape {
  /** Channels of latents. */
  channels: number;
  layers: number;
  /** Columns of the states of the text. */
  textDims: number;
  /** Whether reference images are modulated as at time 0, which is their noise level. */
  cleanReferences: boolean;
  /** Dimensions of a head that are rotated by image, by row, and by column. */
  axes: readonly number[];
}

const EPS = 1e-6;
const PATCH = 2;

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  patch_size: [PATCH],
  guidance_embeds: [false],
  use_additional_t_cond: [false],
  use_layer3d_rope: [false],
};

export function readQwenImageConfig(json: Json, file = 'config.json'): QwenImageConfig {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const sizes = readHeads(config, file, { heads: 24, dims: 128 });
  const inputs = config.count('in_channels', 64);
  const channels = config.count('out_channels', 16);
  if (inputs !== PATCH ** 2 * channels) {
    throw config.error(
      'bad_checkpoint',
      'in_channels',
      `is ${inputs}, and patches of ${PATCH} × ${PATCH} latents with the ${channels} of out_channels have ${PATCH ** 2 * channels}`,
    );
  }
  return {
    channels,
    ...sizes,
    ffn: 4 * sizes.hidden,
    eps: EPS,
    headEps: EPS,
    layers: config.count('num_layers', 60),
    textDims: config.count('joint_attention_dim', 3584),
    cleanReferences: config.flag('zero_cond_t', false),
    axes: readAxes(config, sizes.dims, [16, 56, 56]),
  };
}
