// Converts config.json of a Flux2Transformer2DModel to the configuration of flux2.ts. Only this file knows its key names.

import { readConfig, type Json } from '../config-values.ts';
import type { JointShape } from './joint-block.ts';
import { readAxes, readHeads } from './transformer-config.ts';

export interface Flux2Config extends JointShape {
  /** Channels of latents, which are patches of the autoencoder's. */
  channels: number;
  /** Blocks in which text and image have weights of their own, then those in which they share them. */
  doubleBlocks: number;
  singleBlocks: number;
  /** Columns of the states of the text. */
  textDims: number;
  /** Columns of sines and cosines of the time step. */
  waves: number;
  /** Whether the guidance scale is an input, as in models that are distilled from guided ones. */
  distilledGuidance: boolean;
  /** Dimensions of a head that are rotated by image, by row, by column, and by place in the text. */
  axes: readonly number[];
  theta: number;
}

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = { patch_size: [1] };

/** Throws bad_checkpoint and unsupported. */
export function readFlux2Config(json: Json, file = 'config.json'): Flux2Config {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const sizes = readHeads(config, file, { heads: 48, dims: 128 });
  const { hidden } = sizes;
  const channels = config.count('in_channels', 128);
  const outputs = config.count('out_channels', channels);
  if (outputs !== channels) {
    throw config.error(
      'unsupported',
      'out_channels',
      `is ${outputs} and in_channels ${channels}: models that take a mask or a control image beside the latents are not built; choose FLUX.2 dev or klein`,
    );
  }
  const ffn = Math.trunc(hidden * config.real('mlp_ratio', 3));
  if (ffn < 1 || ffn % 4 !== 0) {
    throw config.error(
      'unsupported',
      'mlp_ratio',
      `gives ${ffn} columns for ${hidden}, a multiple of 4 is needed; choose FLUX.2 dev or klein`,
    );
  }
  const eps = config.real('eps', 1e-6);
  return {
    channels,
    ...sizes,
    ffn,
    eps,
    headEps: eps,
    unbiased: true,
    swiglu: true,
    doubleBlocks: config.count('num_layers', 8),
    singleBlocks: config.count('num_single_layers', 48),
    textDims: config.count('joint_attention_dim', 15360),
    waves: config.count('timestep_guidance_channels', 256),
    distilledGuidance: config.flag('guidance_embeds', true),
    axes: readAxes(config, sizes.dims, [32, 32, 32, 32]),
    theta: config.real('rope_theta', 2000),
  };
}
