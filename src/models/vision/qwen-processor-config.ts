// Converts the processor's configuration of Qwen's vision models to what is done to an image before the tower. Only this file knows its key
// names.

import { isJsonObject, readConfig, type Json } from '../config-values.ts';

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
/** Those of CLIP. */
const MEANS = [0.48145466, 0.4578275, 0.40821073];
const SPREADS = [0.26862954, 0.26130258, 0.27577711];

/** Values where the file leaves them out, and the part of processor_config.json that has them. */
export interface ProcessorDefaults {
  part?: 'image_processor' | 'video_processor';
  minPixels?: number;
  maxPixels?: number;
  patch?: number;
}

/** `json`: preprocessor_config.json, or processor_config.json, in which the settings of images are one of several parts. */
export function readQwenProcessorConfig(
  json: Json,
  file = 'preprocessor_config.json',
  {
    part = 'image_processor',
    minPixels = 56 * 56,
    maxPixels = 28 * 28 * 1280,
    patch = 14,
  }: ProcessorDefaults = {},
): QwenProcessorConfig {
  const outer = readConfig(file, json);
  const own = json[part];
  const config = isJsonObject(own) ? outer.within(part, own) : outer;
  config.only(NEUTRAL);
  const stated = config.values['size'];
  const size = config.within('size', isJsonObject(stated) ? stated : {});
  return {
    minPixels: config.count('min_pixels', size.count('shortest_edge', minPixels)),
    maxPixels: config.count('max_pixels', size.count('longest_edge', maxPixels)),
    patch: config.count('patch_size', patch),
    merge: config.count('merge_size', 2),
    frames: config.count('temporal_patch_size', 2),
    scale: config.real('rescale_factor', 1 / 255),
    means: config.reals('image_mean', CHANNELS) ?? MEANS,
    spreads: config.reals('image_std', CHANNELS) ?? SPREADS,
  };
}
