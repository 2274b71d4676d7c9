// The frames of a video that a model takes, and the bounds on a video before any frame is decoded.

import { badRequest } from '../error.ts';
import type { Pixels } from '../image/pixels.ts';
import type { Clip, VideoSource } from './decoded.ts';
import type { FrameChoice, MediaBounds } from './media.ts';
import { checkBound } from './media-error.ts';

export function checkVideo(source: VideoSource, name: string, bounds: MediaBounds): void {
  const { width, height, frames, duration } = source;
  const size = `has frames of ${width} × ${height} pixels`;
  checkBound(name, bounds, 'maxImagePixels', width * height, size);
  checkBound(name, bounds, 'maxVideoFrames', frames, `has ${frames} frames`);
  checkBound(name, bounds, 'maxMediaSeconds', duration, `lasts ${Number(duration.toFixed(1))} seconds`);
}

/** Counts the pixels of frames as they are decoded, which may be larger than the file states. Throws bad_request beyond the bounds. */
export function countDecoded(
  name: string,
  bounds: Pick<MediaBounds, 'maxImagePixels' | 'maxVideoPixels'>,
): (frame: { width: number; height: number }) => void {
  let pixels = 0;
  return ({ width, height }) => {
    const size = `has a frame of ${width} × ${height} pixels`;
    checkBound(name, bounds, 'maxImagePixels', width * height, size);
    pixels += width * height;
    checkBound(name, bounds, 'maxVideoPixels', pixels, `has frames of ${pixels} pixels to decode`);
  };
}

export interface ChosenFrames {
  /** Frames to decode, in rising order and each once. */
  decode: number[];
  /** The clip of the decoded frames, in the order in which they were chosen. */
  clip(frames: readonly Pixels[]): Clip;
}

export function chooseFrames(
  source: VideoSource,
  name: string,
  bounds: MediaBounds,
  { frames: choose, fit }: FrameChoice,
): ChosenFrames {
  const { width, height, frames: count } = source;
  if (count === 0) throw badRequest(`${name} has no frames; give a video with some`, name);
  const indices = choose ? [...choose(source)] : Array.from({ length: count }, (_, at) => at);
  const decode = [...new Set(indices)].toSorted((a, b) => a - b);
  const size = `has ${decode.length} frames of ${width} × ${height} pixels to decode`;
  checkBound(name, bounds, 'maxVideoPixels', decode.length * width * height, size);
  return {
    decode,
    clip: (frames) => ({
      source,
      indices,
      frames: indices.map((index) => frames[decode.indexOf(index)]!),
      ...(fit && { isFitted: true as const }),
    }),
  };
}

export function fitted(frame: Pixels, source: VideoSource, { fit }: FrameChoice): Pixels {
  return fit ? fit(frame, source) : frame;
}
