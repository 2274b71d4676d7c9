// Converts config.json of a WanTransformer3DModel to the configuration of wan.ts. Only this file knows its key names.

import { readConfig, type ConfigReader, type Json } from '../../config-values.ts';
import { readHeads, type Heads } from '../transformer-config.ts';

export interface WanConfig extends Heads {
  /** Channels of the input: those of latents, and where an image is given in the input also those of its latents and of a mask. */
  inputs: number;
  /** Channels of latents. */
  channels: number;
  layers: number;
  ffn: number;
  /** Columns of the states of the text. */
  textDims: number;
  /** Columns of the waves that embed the time step. */
  timeDims: number;
  /** Whether attention to the text reads normalized tokens. */
  crossNorm: boolean;
  eps: number;
  /** Attention to the states of images by a vision encoder; null: there is none. */
  image: WanImageStates | null;
  /** Dimensions of a head that are rotated by frame, by row, and by column. */
  axes: readonly [number, number, number];
  /** Number of positions on each axis. */
  positions: number;
}

export interface WanImageStates {
  /** Columns of the states. */
  dims: number;
  /** Tokens of both images of models for a first and a last frame, which have positions; null: those of one image have none. */
  places: number | null;
}

/** Latents along a side of a token, which is one frame long. */
export const PATCH = 2;
/** The width of a token's place in the configuration: frames, rows, columns. */
const PATCH_SIZE = [1, PATCH, PATCH];

/** Throws bad_checkpoint and unsupported. */
export function readWanConfig(json: Json, file = 'config.json'): WanConfig {
  const config = readConfig(file, json);
  config.only({ qk_norm: ['rms_norm_across_heads'] });
  const patch = config.list('patch_size', PATCH_SIZE);
  if (patch.join() !== PATCH_SIZE.join())
    throw config.error(
      'unsupported',
      'patch_size',
      `${JSON.stringify(patch)} is not built; choose a checkpoint that has ${JSON.stringify(PATCH_SIZE)}`,
    );
  const sizes = readHeads(config, file, { heads: 40, dims: 128 });
  const inputs = config.count('in_channels', 16);
  return {
    ...sizes,
    inputs,
    channels: json['out_channels'] === null ? inputs : config.count('out_channels', 16),
    layers: config.count('num_layers', 40),
    ffn: config.count('ffn_dim', 13_824),
    textDims: config.count('text_dim', 4096),
    timeDims: config.count('freq_dim', 256),
    crossNorm: config.flag('cross_attn_norm', true),
    eps: config.real('eps', 1e-6),
    image: readImageStates(config, sizes.hidden),
    axes: axesOf(config, sizes.dims),
    positions: config.count('rope_max_seq_len', 1024),
  };
}

/** A side takes a third of the pairs of a head, and time the rest. */
function axesOf(config: ConfigReader, dims: number): [number, number, number] {
  const side = 2 * Math.floor(dims / 6);
  if (dims % 2 !== 0 || side === 0)
    throw config.error(
      'bad_checkpoint',
      'attention_head_dim',
      `is ${dims}: an even number of at least 6 is needed, so that frames, rows and columns rotate pairs of it`,
    );
  return [dims - 2 * side, side, side];
}

function readImageStates(config: ConfigReader, hidden: number): WanImageStates | null {
  const { image_dim: dims, added_kv_proj_dim: added, pos_embed_seq_len: places } = config.values;
  if (dims == null && added == null) return null;
  if (dims == null || added !== hidden)
    throw config.error(
      'bad_checkpoint',
      'added_kv_proj_dim',
      `is ${JSON.stringify(added)} and image_dim ${JSON.stringify(dims)}: both or none are needed, and the first is the width of all heads, ${hidden}`,
    );
  return {
    dims: config.count('image_dim'),
    places: places == null ? null : config.count('pos_embed_seq_len'),
  };
}
