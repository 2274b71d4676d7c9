// The frames of a video that a model takes, and the bounds on a video before any frame is decoded.

import { badRequest } from '../error.ts';
import type { Pixels } from '../image/pixels.ts';
import type { Clip, VideoSource } from './decoded.ts';
import type { FrameChoice, MediaBounds } from './media.ts';
import { beyond } from './media-error.ts';

export function checkVideo(source: VideoSource, name: string, bounds: MediaBounds): void {
  const { maxImagePixels, maxVideoFrames, maxMediaSeconds } = bounds;
  const { width, height, frames, duration } = source;
  if (width * height > maxImagePixels)
    throw beyond(name, `has frames of ${width} × ${height} pixels`, 'maxImagePixels', maxImagePixels);
  if (frames > maxVideoFrames) throw beyond(name, `has ${frames} frames`, 'maxVideoFrames', maxVideoFrames);
  if (duration > maxMediaSeconds)
    throw beyond(name, `lasts ${Number(duration.toFixed(1))} seconds`, 'maxMediaSeconds', maxMediaSeconds);
}

/** Counts the pixels of frames as they are decoded, which may be larger than the file states. Throws bad_request beyond the bounds. */
export function countDecoded(
  name: string,
  { maxImagePixels, maxVideoPixels }: Pick<MediaBounds, 'maxImagePixels' | 'maxVideoPixels'>,
): (frame: { width: number; height: number }) => void {
  let pixels = 0;
  return ({ width, height }) => {
    if (width * height > maxImagePixels)
      throw beyond(name, `has a frame of ${width} × ${height} pixels`, 'maxImagePixels', maxImagePixels);
    pixels += width * height;
    if (pixels > maxVideoPixels)
      throw beyond(name, `has frames of ${pixels} pixels to decode`, 'maxVideoPixels', maxVideoPixels);
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
  const { maxVideoPixels: most } = bounds;
  if (decode.length * width * height > most)
    throw beyond(
      name,
      `has ${decode.length} frames of ${width} × ${height} pixels to decode`,
      'maxVideoPixels',
      most,
    );
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
