// Animated GIF and WebP files as videos, decoded by sharp. Frames of an animation build on those before them, so that a range of frames
// costs the decoding of all before it: ranges are as long as memory allows.

import type { Pixels } from '../image/pixels.ts';
import type { Clip, VideoSource } from './decoded.ts';
import { checkVideo, chooseFrames, fitted } from './frame-choice.ts';
import { MEDIA_NOUNS } from './media-nouns.ts';
import type { AlphaRule, FrameChoice, MediaBounds } from './media.ts';
import { checkBound, undecodable } from './media-error.ts';
import { decodingSeconds, openSharp, readRgb } from './read-image.ts';

/** Pixels that are decoded at once. */
const RANGE_PIXELS = 2 ** 26;

/** A shorter delay, in milliseconds, means the default one, as in browsers and FFmpeg. */
const LEAST_DELAY = 20;
const DEFAULT_DELAY = 100;

/** Decodes the frames that are chosen. Throws bad_request, and the signal's reason. */
export async function readAnimation(
  bytes: Uint8Array,
  name: string,
  bounds: MediaBounds,
  choice: FrameChoice,
  signal?: AbortSignal,
): Promise<Clip> {
  try {
    const source = await animationSource(bytes);
    checkVideo(source, name, bounds);
    checkWhole(source, name, bounds);
    const { decode, clip } = chooseFrames(source, name, bounds, choice);
    const frames: Pixels[] = [];
    const most = Math.max(1, Math.floor(RANGE_PIXELS / (source.width * source.height)));
    while (frames.length < decode.length) {
      signal?.throwIfAborted();
      const first = decode[frames.length]!;
      const range = decode.slice(frames.length).filter((index) => index < first + most);
      const count = range.at(-1)! - first + 1;
      const frameAt = await decodeRange(bytes, { first, count }, source, {
        bounds,
        alpha: choice.alpha,
        signal,
      });
      for (const index of range) {
        frames.push(fitted(frameAt(index), source, choice));
        await otherWork();
        signal?.throwIfAborted();
      }
    }
    return clip(frames);
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw undecodable(name, MEDIA_NOUNS.video.one, cause);
  }
}

/** Fitting a frame takes milliseconds to tens of them: between two of them steps of other requests are recorded. */
function otherWork(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Of an animation even the frames that are not taken are decoded. */
function checkWhole({ frames, width, height }: VideoSource, name: string, bounds: MediaBounds): void {
  const size = `has ${frames} frames of ${width} × ${height} pixels`;
  checkBound(name, bounds, 'maxVideoPixels', frames * width * height, size);
}

async function animationSource(bytes: Uint8Array): Promise<VideoSource> {
  const metadata = await (await openSharp(bytes, { animated: true })).metadata();
  const { pages: frames = 1, width, height, pageHeight = height, delay = [] } = metadata;
  let milliseconds = 0;
  for (let frame = 0; frame < frames; frame++) {
    const stated = delay[frame] ?? DEFAULT_DELAY;
    milliseconds += stated < LEAST_DELAY ? DEFAULT_DELAY : stated;
  }
  const duration = milliseconds / 1000;
  return { width, height: pageHeight, frames, duration, fps: frames / duration };
}

/** Decodes `count` frames from `first` on; the result gives a frame by its index in the animation. */
async function decodeRange(
  bytes: Uint8Array,
  { first, count }: { first: number; count: number },
  { width, height }: VideoSource,
  {
    bounds,
    alpha,
    signal,
  }: { bounds: MediaBounds; alpha: AlphaRule | undefined; signal: AbortSignal | undefined },
): Promise<(index: number) => Pixels> {
  const pipeline = await openSharp(bytes, { page: first, pages: count });
  const { data: rgb } = await readRgb(pipeline.timeout(decodingSeconds(bounds)), {
    ...(alpha && { alpha }),
    ...(signal && { signal }),
  });
  const size = 3 * width * height;
  return (index) => ({ width, height, data: rgb.slice((index - first) * size, (index - first + 1) * size) });
}
