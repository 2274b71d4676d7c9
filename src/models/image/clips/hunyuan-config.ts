// Converts config.json of a HunyuanVideo15Transformer3DModel to the configuration of hunyuan.ts. Only this file knows its key names.

import { readConfig, type Json } from '../../config-values.ts';
import type { JointShape } from '../joint-block.ts';
import { readAxes, readHeads } from '../transformer-config.ts';

export interface HunyuanConfig extends JointShape {
  /** Channels of latents, and of the input: latents, those of given frames, and a mask. */
  channels: number;
  inputs: number;
  layers: number;
  /** Blocks that refine the text by the time step. */
  refinerLayers: number;
  /** Columns of the states of the text, and of the states of texts that are to be seen. */
  textDims: number;
  glyphDims: number;
  /** Columns of the states of an image. */
  imageDims: number;
  /** Whether clips that are drawn from an image are told the time that a step leads to. */
  seesNext: boolean;
  /** Dimensions of a head that are rotated by frame, by row, and by column. */
  axes: readonly number[];
  theta: number;
}

const EPS = 1e-6;

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  patch_size: [1],
  patch_size_t: [1],
  mlp_ratio: [4],
  qk_norm: ['rms_norm'],
};

/** Throws bad_checkpoint and unsupported. */
export function readHunyuanConfig(json: Json, file = 'config.json'): HunyuanConfig {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const sizes = readHeads(config, file, { heads: 16, dims: 128 });
  return {
    ...sizes,
    inputs: config.count('in_channels', 65),
    channels: config.count('out_channels', 32),
    ffn: 4 * sizes.hidden,
    eps: EPS,
    headEps: EPS,
    layers: config.count('num_layers', 54),
    refinerLayers: config.count('num_refiner_layers', 2),
    textDims: config.count('text_embed_dim', 3584),
    glyphDims: config.count('text_embed_2_dim', 1472),
    imageDims: config.count('image_embed_dim', 1152),
    seesNext: config.flag('use_meanflow', false),
    axes: readAxes(config, sizes.dims, [16, 56, 56], 'rope_axes_dim'),
    theta: config.real('rope_theta', 256),
  };
}
