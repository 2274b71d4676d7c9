// Frames that InternVL's processors choose of a video: as many, evenly spaced, each from the middle of its part.

import { roundHalfEven } from '../../files/image/smart-size.ts';

/** Transformers' rule: the middles of equal parts of all frames. At most as many as there are. */
export function middleFrames(frames: number, wanted: number): number[] {
  const count = Math.min(wanted, frames);
  const step = frames / count;
  // The reference computes the times in f32.
  return Array.from({ length: count }, (_, i) => Math.trunc(Math.fround(step / 2 + i * step)));
}

/** The rule of InternVL's own program: parts between the first frame and the last, with beginnings that are rounded. */
export function segmentFrames(frames: number, wanted: number): number[] {
  const count = Math.min(wanted, frames);
  const step = (frames - 1) / count;
  return Array.from({ length: count }, (_, i) => Math.trunc(step / 2 + roundHalfEven(step * i)));
}
