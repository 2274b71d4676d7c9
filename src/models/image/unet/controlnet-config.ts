// Converts config.json of a ControlNetModel: the way down and the middle of a UNet, and a network for the image that steers it.

import { readConfig, type Json } from '../../config-values.ts';
import { readUNetConfig, type UNetConfig } from './unet-config.ts';

export interface ControlNetConfig extends UNetConfig {
  /** Channels of the network for the image; each one but the last halves the resolution. */
  imageChannels: readonly number[];
  /** Whether blue comes before red in the image. */
  isBgr: boolean;
}

/** Keys whose other values would change the computation. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  conditioning_channels: [3],
  global_pool_conditions: [false],
};

/** Type of a block on the way up, where a UNet has the counterpart of one on the way down. */
const COUNTERPARTS: Readonly<Record<string, string>> = {
  CrossAttnDownBlock2D: 'CrossAttnUpBlock2D',
  DownBlock2D: 'UpBlock2D',
};

export function readControlNetConfig(json: Json, file = 'config.json'): ControlNetConfig {
  const config = readConfig(file, json);
  config.only(NEUTRAL);
  const down = config.texts('down_block_types', Object.keys(COUNTERPARTS), [
    'CrossAttnDownBlock2D',
    'CrossAttnDownBlock2D',
    'CrossAttnDownBlock2D',
    'DownBlock2D',
  ]);
  const up = down.toReversed().map((type) => COUNTERPARTS[type]);
  return {
    ...readUNetConfig({ ...json, down_block_types: down, up_block_types: up }, file),
    guidanceDims: null,
    imageChannels: config.list('conditioning_embedding_out_channels', [16, 32, 96, 256]),
    isBgr: config.choice('controlnet_conditioning_channel_order', { rgb: false, bgr: true }, 'rgb'),
  };
}
