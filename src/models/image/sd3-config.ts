// Converts config.json of a SD3Transformer2DModel to the configuration of sd3.ts. Only this file knows its key names.

import { readConfig, type Json } from '../config-values.ts';
import type { JointShape } from './joint-block.ts';
import { readHeads, requireHidden } from './transformer-config.ts';

export interface SD3Config extends JointShape {
  /** Channels of latents. */
  channels: number;
  /** Channels of the input: those of latents, for inpainting followed by a mask and the latents of the unmasked part. */
  inputs: number;
  layers: number;
  /** Blocks in which the image attends to itself beside the attention with the text. */
  dualLayers: ReadonlySet<number>;
  /** Columns of the states of the text, and of its pooled state. */
  textDims: number;
  pooledDims: number;
  /** Places along a side of the square table of positions, of which an image takes those in the middle. */
  places: number;
  /** Latents along a side of the images in training. */
  sampleSize: number;
}

const EPS = 1e-6;
const PATCH = 2;

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = { patch_size: [PATCH] };
const HEAD_NORMS = { none: false, rms_norm: true } as const;

/** Throws bad_checkpoint and unsupported. */
export function readSD3Config(json: Json, file = 'config.json'): SD3Config {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const sizes = readHeads(config, file, { heads: 18, dims: 64 });
  requireHidden(config, 'caption_projection_dim', 1152, sizes);
  const inputs = config.count('in_channels', 16);
  return {
    channels: config.count('out_channels', inputs),
    inputs,
    ...sizes,
    ffn: 4 * sizes.hidden,
    eps: EPS,
    headEps: EPS,
    layers: config.count('num_layers', 18),
    dualLayers: new Set(config.list('dual_attention_layers', [])),
    headNorm: config.choice('qk_norm', HEAD_NORMS, 'none'),
    textDims: config.count('joint_attention_dim', 4096),
    pooledDims: config.count('pooled_projection_dim', 2048),
    places: config.count('pos_embed_max_size', 96),
    sampleSize: config.count('sample_size', 128),
  };
}
