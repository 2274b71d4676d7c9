// Converts config.json of a FluxTransformer2DModel to the configuration of flux.ts. Only this file knows its key names.

import { readConfig, type Json } from '../config-values.ts';
import type { JointShape } from './joint-block.ts';
import { readAxes, readHeads } from './transformer-config.ts';

export interface FluxConfig extends JointShape {
  /** Channels of latents. */
  channels: number;
  /** Channels of the input: those of the latents, and those that models for masks or control images take beside them. */
  inputs: number;
  /** Blocks in which text and image have weights of their own, then those in which they share them. */
  doubleBlocks: number;
  singleBlocks: number;
  /** Columns of the states of the text, and of its pooled state. */
  textDims: number;
  pooledDims: number;
  /** Whether the guidance scale is an input, as in models that are distilled from guided ones. */
  distilledGuidance: boolean;
  /** Dimensions of a head that are rotated by image, by row, and by column. */
  axes: readonly number[];
}

const EPS = 1e-6;
/** Rows and columns of latents that make one token. */
export const PATCH = 2;

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = { patch_size: [1] };

/** Throws bad_checkpoint and unsupported. */
export function readFluxConfig(json: Json, file = 'config.json'): FluxConfig {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const sizes = readHeads(config, file, { heads: 24, dims: 128 });
  const inputs = config.count('in_channels', 64);
  const outputs = config.count('out_channels', inputs);
  for (const [key, count] of Object.entries({ in_channels: inputs, out_channels: outputs })) {
    if (count % PATCH ** 2 !== 0)
      throw config.error('bad_checkpoint', key, `is ${count}, a multiple of ${PATCH ** 2} is needed`);
  }
  return {
    channels: outputs / PATCH ** 2,
    inputs: inputs / PATCH ** 2,
    ...sizes,
    ffn: 4 * sizes.hidden,
    eps: EPS,
    headEps: EPS,
    doubleBlocks: config.count('num_layers', 19),
    singleBlocks: config.count('num_single_layers', 38),
    textDims: config.count('joint_attention_dim', 4096),
    pooledDims: config.count('pooled_projection_dim', 768),
    distilledGuidance: config.flag('guidance_embeds', false),
    axes: readAxes(config, sizes.dims, [16, 56, 56]),
  };
}
