// Converts the processor's configuration of SmolVLM to how it sees a video. Only this file knows its key names.

import { isJsonObject } from '../config-values.ts';
import type { MediaFiles } from '../media.ts';
import { longestEdge, type Idefics3Config } from './idefics3-config.ts';
import { processorPart } from '../processor-part.ts';
import { checkSteps, HALVES, readPixelValues } from './pixel-values.ts';

/** Settings of published checkpoints. */
const [FPS, MOST_FRAMES] = [1, 64];
/** No frame becomes longer than this, whatever the settings say. */
const MOST_PIXELS = 4096;

export type SmolVlmVideoConfig = ReturnType<typeof readSmolVlmVideo>;

/** Transformers reads the settings of videos from the first of three files that there is; `video_sampling` comes before other keys. */
export function readSmolVlmVideo(
  { processors }: Pick<MediaFiles, 'processors'>,
  { tower: { side, patch } }: Pick<Idefics3Config, 'tower'>,
) {
  const own = 'video_preprocessor_config.json';
  const file = own in processors ? own : 'preprocessor_config.json';
  const config = processorPart(processors, 'video_processor', file);
  checkSteps(config, 'lanczos');
  const stated = longestEdge(config, 'max_image_size', side);
  if (stated !== side) {
    const problem = `has a longest_edge of ${stated}, and only frames as large as the tower's images, ${side}, are built`;
    throw config.error('unsupported', 'max_image_size', problem);
  }
  const sampling = config.part('video_sampling');
  const isSampling = isJsonObject(config.values['video_sampling']);
  const longest = longestEdge(config, 'size', longestEdge(sampling, 'video_size', 4 * side));
  return {
    /** Frames that are taken in a second, and the most of a video. */
    fps: isSampling ? sampling.real('fps', FPS) : config.real('fps', FPS),
    most: isSampling ? sampling.count('max_frames', MOST_FRAMES) : config.count('num_frames', MOST_FRAMES),
    /** Pixels of the longest side of a frame before it becomes a square. */
    longest: Math.min(MOST_PIXELS, longest),
    tiles: { side, patch, ...readPixelValues(config, HALVES) },
  };
}
