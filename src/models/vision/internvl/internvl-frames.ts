// Frames that InternVL's processors choose of a video: as many, evenly spaced, each from the middle of its part.

import { roundHalfEven } from '../smart-size.ts';

export interface FrameRule {
  /** Largest number of frames, where `fps` does not decide it. */
  most: number;
  /**
   * Frames per second of the video; null: `most` of any video. The number of frames then has no bound but `maxVideoFrames`: a clip whose rows
   * exceed the context is refused before they are computed, and fitted frames are small.
   */
  fps: number | null;
  /** Frames before the first one; null: half of the distance between two. */
  shift: number | null;
}

/** Transformers' rule: frames at equal distances, of a short video all of them. */
export function spacedFrames(
  { frames, fps }: { frames: number; fps: number },
  { most, fps: wanted, shift }: FrameRule,
): number[] {
  const asked = wanted === null ? most : Math.trunc((frames / fps) * wanted);
  const count = Math.max(1, Math.min(asked, frames));
  const step = frames / count;
  const first = Math.min(shift ?? step / 2, frames - 1);
  // The reference computes the times in f32.
  return Array.from({ length: Math.ceil((frames - first) / step) }, (_, i) =>
    Math.trunc(Math.fround(first + i * step)),
  );
}

/** The rule of InternVL's own program: parts between the first frame and the last, with beginnings that are rounded. */
export function segmentFrames(frames: number, wanted: number): number[] {
  const count = Math.min(wanted, frames);
  const step = (frames - 1) / count;
  return Array.from({ length: count }, (_, i) => Math.trunc(step / 2 + roundHalfEven(step * i)));
}
