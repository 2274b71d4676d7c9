// Converts config.json of a PixArtTransformer2DModel to the configuration of pixart.ts. Only this file knows its key names.

import { readConfig, type Json } from '../config-values.ts';
import { readHeads, requireHidden, type Heads } from './transformer-config.ts';

export interface PixArtConfig extends Heads {
  /** Channels of latents. */
  channels: number;
  /** Channels of the output, of which the first `channels` are the prediction. */
  outputs: number;
  layers: number;
  /** Columns of the states of the text. */
  textDims: number;
  /** Whether queries, keys and values have biases. */
  biased: boolean;
  eps: number;
  /** Latents along a side of the images in training. */
  sampleSize: number;
  /** Divisor of positions, which are those of an image of the trained size. */
  placeScale: number;
  /** Whether the size and the ratio of sides of the image are inputs. */
  takesSize: boolean;
}

/** Latents along one side of a token. */
export const PATCH = 2;
/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  patch_size: [PATCH],
  activation_fn: ['gelu-approximate'],
  norm_type: ['ada_norm_single'],
  norm_elementwise_affine: [false],
  attention_type: ['default'],
};
/** Latents along a side of images whose sizes are inputs unless the file says otherwise. */
const SIZE_TAKING = 128;
/** Latents along a side of images from which positions are divided. */
const UNSCALED = 64;

/** Throws bad_checkpoint and unsupported. */
export function readPixArtConfig(json: Json, file = 'config.json'): PixArtConfig {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const sizes = readHeads(config, file, { heads: 16, dims: 72 });
  requireHidden(config, 'cross_attention_dim', 1152, sizes);
  const channels = config.count('in_channels', 4);
  const outputs = json['out_channels'] === null ? channels : config.count('out_channels', 8);
  if (outputs !== channels && outputs !== 2 * channels)
    throw config.error(
      'unsupported',
      'out_channels',
      `${outputs} is not built; choose a checkpoint that has ${channels} or ${2 * channels}, beside in_channels ${channels}`,
    );
  const sampleSize = config.count('sample_size', SIZE_TAKING);
  const stated = json['use_additional_conditions'] != null;
  const takesSize = stated ? config.flag('use_additional_conditions', false) : sampleSize === SIZE_TAKING;
  if (takesSize && sizes.hidden % 12 !== 0)
    throw config.error(
      'unsupported',
      'attention_head_dim',
      `makes ${sizes.hidden} columns with ${sizes.heads} heads; an image's size as an input needs a multiple of 12`,
    );
  return {
    channels,
    outputs,
    ...sizes,
    layers: config.count('num_layers', 28),
    textDims: config.count('caption_channels'),
    biased: config.flag('attention_bias', true),
    eps: config.real('norm_eps', 1e-6),
    sampleSize,
    placeScale:
      json['interpolation_scale'] == null
        ? Math.max(Math.floor(sampleSize / UNSCALED), 1)
        : config.real('interpolation_scale'),
    takesSize,
  };
}
