// The configuration of taehv.ts. Its files have none: the layout of a file gives these values by the shapes of its tensors.

import { readConfig, type Json } from '../../config-values.ts';

export interface TaehvConfig {
  latentChannels: number;
  /** Side of the square patches of pixels that are channels to the networks. */
  patch: 1 | 2 | 4;
  /** Levels of the decoder, the smallest resolution first. */
  levels: readonly TaehvLevel[];
  /** Pixels along one side of a latent, and frames of a clip that a latent frame after the first stands for. */
  factor: number;
  framesPerLatent: number;
}

/** Blocks at one resolution, behind which sides double. */
export interface TaehvLevel {
  channels: number;
  /** Channels behind the level. */
  to: number;
  /** Frames that each frame becomes. */
  frames: 1 | 2;
}

export function readTaehvConfig(json: Json, file = 'config.json'): TaehvConfig {
  const config = readConfig(file, json);
  config.only({ patch_size: [1, 2, 4] });
  const widths = config.list('decoder_block_out_channels', [256, 128, 64, 64]);
  const grows = config.flags('decoder_time_upscale', [false, true, true]);
  if (grows.length !== widths.length - 1)
    throw config.error(
      'bad_checkpoint',
      'decoder_time_upscale',
      `is ${JSON.stringify(grows)}, ${widths.length - 1} of true and false are needed, one fewer than entries of decoder_block_out_channels`,
    );
  const patch = config.count('patch_size', 1) as 1 | 2 | 4;
  return {
    latentChannels: config.count('latent_channels', 16),
    patch,
    levels: grows.map((grow, i) => ({
      channels: widths[i]!,
      to: widths[i + 1]!,
      frames: grow ? 2 : 1,
    })),
    factor: patch * 2 ** grows.length,
    framesPerLatent: 2 ** grows.filter(Boolean).length,
  };
}
