// Converts the processor's configuration of Qwen's vision models to what is done to an image before the tower. Only this file knows its key
// names.

import { type ConfigReader } from '../../config-values.ts';
import { CLIP_COLOURS, checkSteps, readPixelValues } from '../pixel-values.ts';

export type QwenProcessorConfig = ReturnType<typeof readQwenProcessorConfig>;

/** `config`: settings of a processor of images or videos; then values where it leaves them out. */
export function readQwenProcessorConfig(
  config: ConfigReader,
  {
    minPixels = 56 * 56,
    maxPixels = 28 * 28 * 1280,
    patch = 14,
    frames = 2,
  }: { minPixels?: number; maxPixels?: number; patch?: number; frames?: number } = {},
) {
  checkSteps(config, 'bicubic', {});
  const size = config.part('size');
  return {
    minPixels: config.count('min_pixels', size.count('shortest_edge', minPixels)),
    maxPixels: config.count('max_pixels', size.count('longest_edge', maxPixels)),
    /** Pixels along one side of a patch, patches along one side of a cell, frames of a patch. */
    patch: config.count('patch_size', patch),
    merge: config.count('merge_size', 2),
    frames: config.count('temporal_patch_size', frames),
    ...readPixelValues(config, CLIP_COLOURS),
  };
}
