// Converts config.json of a SanaTransformer2DModel to the configuration of sana.ts. Only this file knows its key names.

import { checkHeads, readConfig, type Json } from '../config-values.ts';
import { readHeads, requireHidden, type Heads } from './transformer-config.ts';

/** `heads`, `dims`: those of linear attention. */
export interface SanaConfig extends Heads {
  /** Channels of latents. */
  channels: number;
  /** Latents along one side of a token. */
  patch: number;
  layers: number;
  /** Heads of the attention to the text, and dimensions of each. */
  crossHeads: number;
  crossDims: number;
  /** Columns of the states of the text. */
  textDims: number;
  /** Channels behind the gate of a feed-forward part. */
  inner: number;
  /** Whether queries and keys have RMSNorms over all heads. */
  headNorm: boolean;
  /** Whether queries, keys and values of linear attention have biases. */
  biased: boolean;
  /** Whether the norm before the feed-forward part has weights. */
  affine: boolean;
  eps: number;
  /** Latents along a side of the images in training. */
  sampleSize: number;
  /** Divisor of positions, which are those of an image of the trained size; null: latents have no positions. */
  placeScale: number | null;
  /** Factor on time steps. */
  timeScale: number;
  /** Factor on the guidance scale as an input; null: the model has no such input. */
  guidanceScale: number | null;
}

const HEAD_NORMS = { none: false, rms_norm_across_heads: true } as const;
/** Channels are gated four at a time. */
const STEP = 4;

/** Throws bad_checkpoint and unsupported. */
export function readSanaConfig(json: Json, file = 'config.json'): SanaConfig {
  const config = readConfig(file, json);
  const patch = config.count('patch_size', 1);
  const sizes = readHeads(config, file, { heads: 70, dims: 32 });
  const { hidden } = sizes;
  const crossHeads = config.count('num_cross_attention_heads', 20);
  const crossDims = config.count('cross_attention_head_dim', 112);
  checkHeads(file, crossHeads * crossDims, crossHeads, 1);
  requireHidden(config, 'cross_attention_dim', 2240, sizes);
  const headNorm = config.choice('qk_norm', HEAD_NORMS, 'none');
  if (headNorm && (crossHeads * crossDims) % STEP !== 0)
    throw config.error(
      'unsupported',
      'cross_attention_head_dim',
      `makes ${crossHeads * crossDims} columns of ${crossHeads} heads, which have a norm; choose a checkpoint that makes a multiple of ${STEP}`,
    );
  const inner = Math.trunc(config.real('mlp_ratio', 2.5) * hidden);
  if (inner === 0 || inner % STEP !== 0)
    throw config.error(
      'unsupported',
      'mlp_ratio',
      `makes ${inner} channels of ${hidden}; choose a checkpoint that makes a multiple of ${STEP}`,
    );
  const channels = config.count('in_channels', 32);
  const made = config.count('out_channels', channels);
  if (made !== channels)
    throw config.error(
      'unsupported',
      'out_channels',
      `${made} is not built; choose a checkpoint that has ${channels}, like in_channels`,
    );
  return {
    channels,
    patch,
    ...sizes,
    layers: config.count('num_layers', 20),
    crossHeads,
    crossDims,
    textDims: config.count('caption_channels', 2304),
    inner,
    headNorm,
    biased: config.flag('attention_bias', false),
    affine: config.flag('norm_elementwise_affine', false),
    eps: config.real('norm_eps', 1e-6),
    sampleSize: config.count('sample_size', 32),
    placeScale: json['interpolation_scale'] == null ? null : config.real('interpolation_scale'),
    timeScale: config.real('timestep_scale', 1),
    guidanceScale: config.flag('guidance_embeds', false) ? config.real('guidance_embeds_scale', 0.1) : null,
  };
}
