// Converts config.json of a UNet2DConditionModel to the levels of unet.ts. Only this file knows its key names.

import { boundsText, COUNTS, isCount } from '../../config-bounds.ts';
import {
  checkGroups,
  checkHeads,
  ConfigError,
  readConfig,
  shown,
  type ConfigReader,
  type Json,
} from '../../config-values.ts';

export interface UNetAttention {
  heads: number;
  /** Columns of the text states to which cross-attention attends. */
  context: number;
  /** Number of transformer blocks after each residual block. */
  depths: readonly number[];
}

/** Blocks at one resolution, on the way down or up. */
export interface UNetLevel {
  channels: number;
  /** Number of residual blocks. */
  layers: number;
  attention: UNetAttention | null;
  /** Whether the resolution is halved (down) or doubled (up) afterwards. */
  resamples: boolean;
}

export interface UNetConfig {
  inChannels: number;
  outChannels: number;
  /** Columns of the embedded time step. */
  timeDims: number;
  flipSinToCos: boolean;
  freqShift: number;
  groups: number;
  eps: number;
  down: readonly UNetLevel[];
  /** Blocks at the lowest resolution; null: none. */
  mid: UNetLevel | null;
  up: readonly UNetLevel[];
  /** Columns of an embedded guidance scale, in distilled models that take one. */
  guidanceDims: number | null;
  /** SDXL adds pooled text and sizes to the time embedding: columns of both together, and of one embedded size. */
  added: { columns: number; idDims: number } | null;
  /** Size of the latents in training. */
  sampleSize: { height: number; width: number } | null;
}

const DOWN_BLOCKS = ['CrossAttnDownBlock2D', 'DownBlock2D'];
const UP_BLOCKS = ['CrossAttnUpBlock2D', 'UpBlock2D'];
const MID_BLOCKS = { UNetMidBlock2DCrossAttn: 'attention', UNetMidBlock2D: 'residual' } as const;

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  act_fn: ['silu', 'swish'],
  center_input_sample: [false],
  downsample_padding: [1],
  only_cross_attention: [false],
  mid_block_only_cross_attention: [false],
  mid_block_scale_factor: [1],
  dual_cross_attention: [false],
  class_embed_type: [null],
  num_class_embeds: [null],
  class_embeddings_concat: [false],
  encoder_hid_dim: [null],
  encoder_hid_dim_type: [null],
  num_attention_heads: [null],
  addition_embed_type: [null, 'text_time'],
  resnet_time_scale_shift: ['default'],
  resnet_skip_time_act: [false],
  resnet_out_scale_factor: [1],
  time_embedding_type: ['positional'],
  time_embedding_act_fn: [null],
  timestep_post_act: [null],
  conv_in_kernel: [3],
  conv_out_kernel: [3],
  attention_type: ['default'],
  cross_attention_norm: [null],
};

export function readUNetConfig(json: Json, file = 'config.json'): UNetConfig {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const channels = config.list('block_out_channels', [320, 640, 1280, 1280]);
  const [base] = channels as [number];
  const uneven = channels.find((width) => width % 4 !== 0);
  if (uneven !== undefined) {
    throw new ConfigError(
      'unsupported',
      file,
      `block_out_channels ${uneven} is not built; choose a checkpoint whose channels are multiples of 4`,
    );
  }
  const mid =
    json['mid_block_type'] === null
      ? null
      : config.choice('mid_block_type', MID_BLOCKS, 'UNetMidBlock2DCrossAttn');
  return {
    inChannels: config.count('in_channels', 4),
    outChannels: config.count('out_channels', 4),
    timeDims: config.count('time_embedding_dim', 4 * base),
    flipSinToCos: config.flag('flip_sin_to_cos', true),
    freqShift: config.real('freq_shift', 0),
    groups: checkGroups(file, channels, config.count('norm_num_groups', 32)),
    eps: config.real('norm_eps', 1e-5),
    ...readLevels(file, json, config, mid),
    guidanceDims: json['time_cond_proj_dim'] == null ? null : config.count('time_cond_proj_dim'),
    added:
      json['addition_embed_type'] == null
        ? null
        : {
            columns: config.count('projection_class_embeddings_input_dim'),
            idDims: readIdDims(config),
          },
    sampleSize: readSampleSize(config, json),
  };
}

/** Reads the columns of an embedded size: half are sines, half cosines. */
function readIdDims(config: ConfigReader): number {
  const dims = config.count('addition_time_embed_dim');
  if (dims % 2 === 0) return dims;
  throw config.error('bad_checkpoint', 'addition_time_embed_dim', `is ${dims}, an even number is needed`);
}

/** Reads sample_size: a number for both sides, or height and width. */
function readSampleSize(config: ConfigReader, json: Json): UNetConfig['sampleSize'] {
  if (json['sample_size'] == null) return null;
  const [height, width] = config.each('sample_size', 2) as [number, number];
  return { height, width };
}

type Levels = Pick<UNetConfig, 'down' | 'mid' | 'up'>;

function readLevels(
  file: string,
  json: Json,
  config: ConfigReader,
  mid: 'attention' | 'residual' | null,
): Levels {
  const channels = config.list('block_out_channels', [320, 640, 1280, 1280]);
  const count = channels.length;
  const crossed = Array.from({ length: 3 });
  const down = config.texts('down_block_types', DOWN_BLOCKS, [
    ...crossed.map(() => DOWN_BLOCKS[0]!),
    DOWN_BLOCKS[1]!,
  ]);
  const up = config.texts('up_block_types', UP_BLOCKS, [UP_BLOCKS[1]!, ...crossed.map(() => UP_BLOCKS[0]!)]);
  if (down.length !== count || up.length !== count) {
    throw new ConfigError(
      'bad_checkpoint',
      file,
      `${count} block_out_channels need as many down_block_types and up_block_types, not ${down.length} and ${up.length}`,
    );
  }
  const layers = config.each('layers_per_block', count, 2);
  // The key's name says head dimension, but its value has always been the number of heads.
  const heads = config.each('attention_head_dim', count, 8);
  const context = config.each('cross_attention_dim', count, 1280);
  const depths = readDepths(config, 'transformer_layers_per_block', count);
  const reversed =
    json['reverse_transformer_layers_per_block'] == null
      ? depths.toReversed()
      : readDepths(config, 'reverse_transformer_layers_per_block', count);

  const attention = (i: number, blocks: number, depth: Depth): UNetAttention => ({
    heads: checkHeads(file, channels[i]!, heads[i]!),
    context: context[i]!,
    depths: Array.from({ length: blocks }, (_, k) => (typeof depth === 'number' ? depth : (depth[k] ?? 1))),
  });
  return {
    down: channels.map((width, i) => ({
      channels: width,
      layers: layers[i]!,
      attention: down[i] === DOWN_BLOCKS[0] ? attention(i, layers[i]!, depths[i]!) : null,
      resamples: i < count - 1,
    })),
    mid: mid && {
      channels: channels.at(-1)!,
      layers: mid === 'attention' ? 2 : 1,
      attention: mid === 'attention' ? attention(count - 1, 1, depths.at(-1)!) : null,
      resamples: false,
    },
    up: channels.toReversed().map((width, k) => {
      const i = count - 1 - k;
      return {
        channels: width,
        layers: layers[i]! + 1,
        attention: up[k] === UP_BLOCKS[0] ? attention(i, layers[i]! + 1, reversed[k]!) : null,
        resamples: i > 0,
      };
    }),
  };
}

/** Number of transformer blocks after each residual block of a level: one number for all, or one for each. */
type Depth = number | number[];
type DepthsKey = 'transformer_layers_per_block' | 'reverse_transformer_layers_per_block';

function readDepths(config: ConfigReader, key: DepthsKey, count: number): Depth[] {
  const isDepth = (value: unknown): boolean => isCount(value, COUNTS[key]);
  const value = config.values[key] ?? 1;
  const depths = Array.isArray(value) ? (value as unknown[]) : Array.from({ length: count }, () => value);
  const fits = depths.every((one) => isDepth(one) || (Array.isArray(one) && one.every(isDepth)));
  if (depths.length !== count || !fits) {
    throw config.error(
      'bad_checkpoint',
      key,
      `is ${shown(value)}, a number of blocks ${boundsText(COUNTS[key])} or ${count} of them are needed`,
    );
  }
  return depths as Depth[];
}
