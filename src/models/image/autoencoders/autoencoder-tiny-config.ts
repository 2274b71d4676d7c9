// Converts config.json of an AutoencoderTiny to the configuration of autoencoder-tiny.ts. Only this file knows its key names.

import { ConfigError, readConfig, type ConfigReader, type Json } from '../../config-values.ts';

export interface AutoencoderTinyConfig {
  inChannels: number;
  outChannels: number;
  latentChannels: number;
  encoder: TinyStages;
  decoder: TinyStages;
  /** The denoiser's latents are (latent − shift) · scale. */
  scales: readonly [{ scale: number; shift: number }];
}

/** Numbers of residual blocks at each resolution, and their channels. */
export interface TinyStages {
  channels: number;
  blocks: readonly number[];
}

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  act_fn: ['relu'],
  upsample_fn: ['nearest'],
  upsampling_scaling_factor: [2],
};

export function readAutoencoderTinyConfig(json: Json, file = 'config.json'): AutoencoderTinyConfig {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  return {
    inChannels: config.count('in_channels', 3),
    outChannels: config.count('out_channels', 3),
    latentChannels: config.count('latent_channels', 4),
    encoder: readStages(file, config, 'encoder', [1, 3, 3, 3]),
    decoder: readStages(file, config, 'decoder', [3, 3, 3, 1]),
    scales: [{ scale: config.real('scaling_factor', 1), shift: config.real('shift_factor', 0) }],
  };
}

function readStages(
  file: string,
  config: ConfigReader,
  side: 'encoder' | 'decoder',
  usual: number[],
): TinyStages {
  const key = `${side}_block_out_channels` as const;
  const widths = config.list(key, [64, 64, 64, 64]);
  const blocks = config.list(`num_${side}_blocks`, usual);
  if (widths.length !== blocks.length || widths.some((width) => width !== widths[0])) {
    throw new ConfigError(
      'unsupported',
      file,
      `${key} ${JSON.stringify(widths)} is not built; choose an autoencoder with ${blocks.length} equal widths`,
    );
  }
  return { channels: widths[0]!, blocks };
}
