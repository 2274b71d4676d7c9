// Converts the processor's configuration of Qwen's vision models to what is done to an image before the tower. Only this file knows its key
// names.

import { type ConfigReader } from '../../config-values.ts';
import { CLIP_MEANS, CLIP_SPREADS } from '../clip-colours.ts';

export interface QwenProcessorConfig {
  minPixels: number;
  maxPixels: number;
  /** Pixels along one side of a patch, patches along one side of a cell, frames of a patch. */
  patch: number;
  merge: number;
  frames: number;
  /** Factor on a byte; then (value − mean) / spread of each channel. */
  scale: number;
  means: readonly number[];
  spreads: readonly number[];
}

/** Keys whose other values would change the computation; 3 is Pillow's bicubic filter. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  do_resize: [true],
  do_rescale: [true],
  do_normalize: [true],
  resample: [3],
};
const CHANNELS = 3;

/** Values where the file leaves them out. */
export type ProcessorDefaults = Partial<Pick<QwenProcessorConfig, 'minPixels' | 'maxPixels' | 'patch'>>;

/** `config`: settings of a processor of images or videos. */
export function readQwenProcessorConfig(
  config: ConfigReader,
  { minPixels = 56 * 56, maxPixels = 28 * 28 * 1280, patch = 14 }: ProcessorDefaults = {},
): QwenProcessorConfig {
  config.only(NEUTRAL);
  const size = config.part('size');
  return {
    minPixels: config.count('min_pixels', size.count('shortest_edge', minPixels)),
    maxPixels: config.count('max_pixels', size.count('longest_edge', maxPixels)),
    patch: config.count('patch_size', patch),
    merge: config.count('merge_size', 2),
    frames: config.count('temporal_patch_size', 2),
    scale: config.real('rescale_factor', 1 / 255),
    means: config.reals('image_mean', CHANNELS) ?? CLIP_MEANS,
    spreads: config.reals('image_std', CHANNELS) ?? CLIP_SPREADS,
  };
}
