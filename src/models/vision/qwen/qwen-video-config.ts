// Converts the configurations of processors to how Qwen's models see a video. Only this file knows their key names.

import type { MediaFiles } from '../../media.ts';
import { processorPart } from '../../processor-part.ts';
import { readQwenProcessorConfig, type QwenProcessorConfig } from './qwen-processor-config.ts';

export interface QwenVideoConfig {
  processor: QwenProcessorConfig;
  /** Frames that are taken in a second, and bounds on their number. */
  fps: number;
  least: number;
  most: number;
  /** Most tokens of a frame where texts state the time, else of the whole video; null: only pixels are bounded. */
  mostTokens: number | null;
  /** How time is told: by the index of a step, by positions that count so many in a second, or by text. */
  time: 'index' | { perSecond: number } | 'text';
}

/** Pixels along one side of a cell in transformers' classes, whose bounds of pixels are multiples of a cell. */
const CELLS = { index: 28, text: 32 };
const OWN_FILE = 'video_preprocessor_config.json';
const LEAST_CELLS = 128;
const MOST_CELLS = 768;
const MOST_TOKENS = { index: 128_000, text: 768 };

/** `processors`: configurations by file name. Older checkpoints have one file for images and videos. */
export function readQwenVideoConfig(
  processors: MediaFiles['processors'],
  time: QwenVideoConfig['time'],
): QwenVideoConfig {
  const file = [OWN_FILE, 'preprocessor_config.json'].find((name) => processors[name]) ?? OWN_FILE;
  const config = processorPart(processors, 'video_processor', file);
  const form = time === 'text' ? 'text' : 'index';
  const cell = CELLS[form];
  const processor = readQwenProcessorConfig(config, {
    minPixels: LEAST_CELLS * cell ** 2,
    maxPixels: MOST_CELLS * cell ** 2,
    patch: cell / 2,
  });
  // Transformers takes a number of frames in the place of frames per second, of which published checkpoints have the latter.
  config.only({ num_frames: [null] });
  const isCapped = config.flag('cap_pixels_per_frame', false);
  return {
    processor,
    fps: config.real('fps', 2),
    least: config.count('min_frames', 4),
    most: config.count('max_frames', 768),
    mostTokens: isCapped ? config.count('max_video_tokens', MOST_TOKENS[form]) : null,
    time,
  };
}
