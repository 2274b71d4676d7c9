// Converts config.json of an AutoencoderKLHunyuanVideo15 to the configuration of autoencoder-hunyuan.ts. Only this file knows its key names.

import { checkHeads, readConfig, type ConfigReader, type Json } from '../../config-values.ts';

export interface AutoencoderHunyuanConfig {
  imageChannels: number;
  latentChannels: number;
  /** Channels at each resolution, the image's own first. */
  channels: readonly number[];
  /** Residual blocks of the encoder at each resolution; the decoder has one more. */
  layers: number;
  /** What is halved between a resolution and the next: sides alone, or sides and the number of frames. */
  halves: readonly ('sides' | 'frames')[];
  factor: number;
  framesPerLatent: number;
  scales: readonly [{ scale: number; shift: number }];
}

const MATCHES = { downsample_match_channel: [true], upsample_match_channel: [true] };

/** Throws bad_checkpoint and unsupported. */
export function readAutoencoderHunyuanConfig(json: Json, file = 'config.json'): AutoencoderHunyuanConfig {
  const config = readConfig(file, json);
  config.only(MATCHES);
  const channels = config.list('block_out_channels', [128, 256, 512, 1024, 1024]);
  checkHeads(file, channels.at(-1)!, 1);
  const imageChannels = config.count('in_channels', 3);
  config.only({ out_channels: [imageChannels] });
  const factor = config.count('spatial_compression_ratio', 16);
  const framesPerLatent = config.count('temporal_compression_ratio', 4);
  const [sides, times] = [Math.log2(factor), Math.log2(framesPerLatent)];
  if (sides !== channels.length - 1)
    throw config.error(
      'bad_checkpoint',
      'spatial_compression_ratio',
      `is ${factor}, ${2 ** (channels.length - 1)} is needed for ${channels.length} entries of block_out_channels`,
    );
  if (!Number.isInteger(times) || times > sides)
    throw config.error(
      'bad_checkpoint',
      'temporal_compression_ratio',
      `is ${framesPerLatent}, a power of two is needed, at most spatial_compression_ratio, which is ${factor}`,
    );
  const shape = {
    channels,
    latentChannels: config.count('latent_channels', 32),
    halves: Array.from({ length: sides }, (_, i) => (i >= sides - times ? 'frames' : 'sides')),
  } as const;
  checkShares(config, shape);
  return {
    ...shape,
    imageChannels,
    layers: config.count('layers_per_block', 2),
    factor,
    framesPerLatent,
    scales: [{ scale: config.real('scaling_factor', 1.03682), shift: 0 }],
  };
}

/** Throws bad_checkpoint unless the channels of each resolution are shared out evenly among those beside it. */
function checkShares(
  config: ConfigReader,
  {
    channels,
    latentChannels,
    halves,
  }: Pick<AutoencoderHunyuanConfig, 'channels' | 'latentChannels' | 'halves'>,
): void {
  const isEven = halves.every((what, i) => {
    const [fine, coarse] = [channels[i]!, channels[i + 1]!];
    // A frame after the first is one of two, and the first has half of their places.
    const places = what === 'frames' ? 8 : 4;
    const firsts = what === 'frames' ? 4 : places;
    return coarse % places === 0 && (firsts * fine) % coarse === 0;
  });
  if (isEven && channels.at(-1)! % (2 * latentChannels) === 0) return;
  const problem = `is ${JSON.stringify(channels)}, which cannot be shared out evenly among ${latentChannels} channels of latents and from each resolution to the next`;
  throw config.error('bad_checkpoint', 'block_out_channels', problem);
}
