// Videos in Qwen's models: frames are chosen by their time, two of them make a step, and a step is as an image is. Qwen2.5-VL knows the time of
// a step by its position, Qwen3-VL by text before it.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { Clip, VideoReader, VideoSource, Preparation } from '../../media.ts';
import { finished } from '../../preparation.ts';
import { prepareFrames, type FramesConfig } from './qwen-frames.ts';
import type { QwenVideoConfig } from './qwen-video-config.ts';
import { roundHalfEven, smartSize } from '../smart-size.ts';
import { resized } from '../tiles.ts';

const VIDEO = '<|video_pad|>';
const [START, END] = ['<|vision_start|>', '<|vision_end|>'];

type Sides = Pick<Pixels, 'width' | 'height'>;

export function qwenVideoReader(vision: FramesConfig, config: QwenVideoConfig): VideoReader {
  const frames = (source: VideoSource): number[] =>
    config.time === 'text' ? evenFrames(source, config) : steppedFrames(source, config);
  const fit = (frame: Pixels, source: VideoSource): Pixels =>
    finished(fitted(frame, frameSize(config, frame, frames(source).length)));
  // Where time is text, each step has tokens around it that take the place of those that the template prints around a video.
  const placeholders =
    config.time === 'text'
      ? { placeholder: `${START}${VIDEO}${END}`, otherPlaceholders: [VIDEO] }
      : { placeholder: VIDEO };
  return { ...placeholders, frames, fit, prepare: (clip) => prepareClip(vision, config, clip) };
}

/** Frames in equal steps from the first one on; their number is a multiple of a step's. */
function steppedFrames({ frames: total, fps }: VideoSource, config: QwenVideoConfig): number[] {
  const { frames: step } = config.processor;
  const whole = (count: number): number => Math.floor(count / step) * step;
  const wanted = (total / fps) * config.fps;
  const most = whole(Math.min(config.most, total));
  const count = whole(Math.min(Math.max(wanted, config.least), most, total));
  if (count === 0) return Array.from({ length: total }, (_, i) => i);
  return Array.from({ length: count }, (_, i) => Math.trunc((i * total) / count));
}

/** Frames in equal distances from the first to the last one. */
function evenFrames({ frames: total, fps }: VideoSource, config: QwenVideoConfig): number[] {
  const wanted = Math.trunc((total / fps) * config.fps);
  const count = Math.min(Math.max(wanted, config.least), config.most, total);
  const step = count === 1 ? 0 : (total - 1) / (count - 1);
  return Array.from({ length: count }, (_, i) => roundHalfEven(i * step));
}

/** The size in which frames are seen; where time is text, bounds of pixels are those of all frames. */
function frameSize(config: QwenVideoConfig, { width, height }: Sides, count: number): Sides {
  const { processor, time } = config;
  const { patch, merge, minPixels, frames: step } = processor;
  const multiple = patch * merge;
  if (time !== 'text')
    return smartSize({ width, height }, { multiple, minPixels, maxPixels: mostPixelsOfFrame(config, count) });
  const maxPixels = mostPixels(config, count);
  const growth = Math.max(multiple / height, multiple / width, 1);
  const grown = (side: number): number => (growth > 1 ? Math.trunc(side * growth) : side);
  const padded = Math.max(1, roundHalfEven(count / step)) * step;
  const bounds = { multiple, minPixels, maxPixels, frames: { count, padded }, stated: { width, height } };
  return smartSize({ width: grown(width), height: grown(height) }, bounds);
}

/** Most pixels of a frame: those of the processor, and where the tokens of all frames are bounded no more than its share of nine tenths of them. */
function mostPixelsOfFrame({ processor, mostTokens }: QwenVideoConfig, count: number): number {
  const { patch, merge, minPixels, maxPixels, frames: step } = processor;
  if (mostTokens === null) return maxPixels;
  const all = Math.trunc(mostTokens * (patch * merge) ** 2 * 0.9);
  return Math.max(Math.min(maxPixels, Math.floor((all * step) / count)), leastShare(minPixels));
}

/** Most pixels of all frames. A frame has its share of them, and where cells of a frame are bounded no more than those. */
function mostPixels({ processor, mostTokens }: QwenVideoConfig, count: number): number {
  const { patch, merge, minPixels, maxPixels } = processor;
  if (mostTokens === null) return maxPixels;
  const ofFrame = Math.min(mostTokens * (patch * merge) ** 2, Math.floor(maxPixels / count));
  return Math.max(ofFrame, leastShare(minPixels)) * count;
}

/** Pixels that a frame has however many there are. */
const leastShare = (minPixels: number): number => Math.trunc(minPixels * 1.05);

const fitted = (frame: Pixels, size: Sides): Generator<void, Pixels, void> =>
  resized(frame, size, { filter: 'bicubic', rowsFirst: true });

function* prepareClip(vision: FramesConfig, config: QwenVideoConfig, clip: Clip): Preparation {
  const { processor, time } = config;
  const { indices, source } = clip;
  const size = frameSize(config, source, clip.frames.length);
  const cellsOfStep = (size.width * size.height) / (processor.patch * processor.merge) ** 2;
  yield Math.ceil(clip.frames.length / processor.frames) * cellsOfStep;
  const shown: Pixels[] = [];
  for (const frame of clip.frames) shown.push(yield* fitted(frame, size));
  const steps = stepsOf(shown, processor.frames);
  const { inputs, groups, rows, columns } = yield* prepareFrames(vision, processor, steps);
  const cells = rows * columns;
  const medium = { token: VIDEO, tower: 'vision', inputs, layout: groups } as const;
  if (time === 'text') {
    const parts = stepsOf(indices, processor.frames).flatMap((step): (string | number)[] => {
      const seconds = (step[0]! / source.fps + step.at(-1)! / source.fps) / 2;
      return [`<${oneDigit(seconds)} seconds>${START}`, cells, END];
    });
    return { ...medium, parts, grid: { times: [0], rows, columns } };
  }
  const seconds = Math.fround(processor.frames / ((indices.length / source.frames) * source.fps));
  const interval = time === 'index' ? 1 : Math.fround(time.perSecond * seconds);
  const times = steps.map((_, i) => Math.trunc(Math.fround(i * interval)));
  return { ...medium, parts: [steps.length * cells], grid: { times, rows, columns } };
}

/** Runs of `size` entries; the last entry fills the last one up. */
export function stepsOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) =>
    Array.from({ length: size }, (__, k) => list[Math.min(i * size + k, list.length - 1)]!),
  );
}

/** One digit after the point, exact halves to the even one, as Python formats. */
export function oneDigit(value: number): string {
  const isHalf = (value * 4) % 1 === 0 && (value * 2) % 1 !== 0;
  return isHalf ? (roundHalfEven(value * 10) / 10).toFixed(1) : value.toFixed(1);
}
