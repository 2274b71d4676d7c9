// Converts config.json of an AutoencoderKLQwenImage to the configuration of autoencoder-qwen-image.ts. Only this file knows its key
// names.

import { checkHeads, readConfig, type Json } from '../../config-values.ts';

export interface AutoencoderQwenImageConfig {
  /** Channels of the input and output images, and of latents. */
  imageChannels: number;
  latentChannels: number;
  /** Channels at each resolution, the image's own first. */
  channels: readonly number[];
  /** Residual blocks of the encoder at each resolution; the decoder has one more. */
  layers: number;
  /** Frames of a clip that a latent frame after the first stands for. */
  framesPerLatent: number;
  /** The denoiser's latents are (latent − shift) · scale, with one pair per channel. */
  scales: readonly { scale: number; shift: number }[];
}

export function readAutoencoderQwenImageConfig(json: Json, file = 'config.json'): AutoencoderQwenImageConfig {
  const config = readConfig(file, json);
  config.only({ attn_scales: [[]] });
  const base = config.count('base_dim', 96);
  const channels = config.list('dim_mult', [1, 2, 4, 4]).map((times) => times * base);
  checkHeads(file, channels.at(-1)!, 1);
  const latentChannels = config.count('z_dim', 16);
  const means = config.reals('latents_mean', latentChannels);
  const spreads = config.reals('latents_std', latentChannels);
  if (means === null || spreads === null || spreads.includes(0)) {
    throw config.error(
      'bad_checkpoint',
      'latents_std',
      `is ${JSON.stringify(spreads)} and latents_mean ${JSON.stringify(means)}, a mean and a spread above 0 for each of ${latentChannels} channels are needed`,
    );
  }
  return {
    imageChannels: config.count('input_channels', 3),
    latentChannels,
    channels,
    layers: config.count('num_res_blocks', 2),
    framesPerLatent: 2 ** config.flags('temperal_downsample', [false, true, true]).filter(Boolean).length,
    scales: means.map((shift, i) => ({ scale: 1 / spreads[i]!, shift })),
  };
}
