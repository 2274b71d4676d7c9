// Converts config.json of a QwenImageTransformer2DModel to the configuration of qwen-image.ts. Only this file knows its key names.

import { EngineError } from '../../files/error.ts';
import { checkHeads, readConfig, type Json } from '../config-values.ts';
import type { JointShape } from './joint-block.ts';

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

const AXES = 3;
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
  const dims = config.count('attention_head_dim', 128);
  const heads = config.count('num_attention_heads', 24);
  const hidden = heads * dims;
  checkHeads(file, hidden, heads);
  const axes = config.list('axes_dims_rope', [16, 56, 56]);
  if (axes.length !== AXES || axes.some((size) => size % 2 !== 0) || sum(axes) !== dims) {
    throw config.error(
      'bad_checkpoint',
      'axes_dims_rope',
      `is ${JSON.stringify(axes)}, three even numbers are needed that make up heads of ${dims} dimensions`,
    );
  }
  const inputs = config.count('in_channels', 64);
  const channels = config.count('out_channels', 16);
  if (inputs !== PATCH ** 2 * channels) {
    throw new EngineError(
      'bad_checkpoint',
      `${file}: in_channels is ${inputs}, and patches of ${PATCH} × ${PATCH} latents with the ${channels} of out_channels have ${PATCH ** 2 * channels}`,
      { param: 'in_channels' },
    );
  }
  return {
    channels,
    hidden,
    heads,
    dims,
    ffn: 4 * hidden,
    eps: EPS,
    headEps: EPS,
    layers: config.count('num_layers', 60),
    textDims: config.count('joint_attention_dim', 3584),
    cleanReferences: config.flag('zero_cond_t', false),
    axes,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
