// Videos of GLM-4.1V to GLM-4.6V and GLM-OCR: frames are chosen by their time, two of them make a step, a step is as an image is, and text behind it
// tells its time.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { Clip, MediaFiles, Preparation, VideoReader, VideoSource } from '../../media.ts';
import { finished } from '../../preparation.ts';
import { processorPart } from '../../processor-part.ts';
import { prepareFrames, type FramesConfig } from '../qwen/qwen-frames.ts';
import { readQwenProcessorConfig, type QwenProcessorConfig } from '../qwen/qwen-processor-config.ts';
import { oneDigit, stepsOf } from '../qwen/qwen-video.ts';
import { resized } from '../tiles.ts';
import { glmSize } from './glm-size.ts';

export interface GlmVideoConfig {
  processor: QwenProcessorConfig;
  /** Frames in a second of videos up to `seconds`; longer ones have as many in all. null: as many as GLM-4.6V's processor takes by their length. */
  pace: { fps: number; seconds: number } | null;
}

const OWN_FILE = 'video_preprocessor_config.json';

/** The two processors of videos are told apart by the class that their files name; GLM-4.1V's if they name none. */
export function readGlmVideo(processors: MediaFiles['processors']): GlmVideoConfig {
  const file = [OWN_FILE, 'preprocessor_config.json'].find((name) => processors[name]) ?? OWN_FILE;
  const config = processorPart(processors, 'video_processor', file);
  const bounds = { minPixels: 112 * 112, maxPixels: 28 * 28 * 2 * 30000 };
  const processor = readQwenProcessorConfig(config, bounds);
  const named = [processors['processor_config.json'], config.values, processors['preprocessor_config.json']]
    .flatMap((values) => [values?.['processor_class'], values?.['video_processor_type']])
    .map(String);
  if (named.some((name) => name.startsWith('Glm46V'))) return { processor, pace: null };
  return { processor, pace: { fps: config.real('fps', 2), seconds: config.count('max_duration', 300) } };
}

export function glmVideoReader(vision: FramesConfig, config: GlmVideoConfig): VideoReader {
  const frames = (source: VideoSource): number[] => chosenFrames(config, source);
  return {
    placeholder: '<|video|>',
    frames,
    fit: (frame, source) => finished(fitted(config, frame, source, frames(source).length)),
    prepare: (clip) => prepareClip(vision, config, clip),
  };
}

/** Each frame once; the last one stands twice where their number is odd. */
function chosenFrames({ processor, pace }: GlmVideoConfig, source: VideoSource): number[] {
  const wanted = pace === null ? pacedByLength(source, processor.frames) : pacedEvenly(source, pace);
  const chosen = [...new Set(wanted)];
  return chosen.length % 2 === 0 ? chosen : [...chosen, chosen.at(-1)!];
}

function pacedEvenly(
  { frames, fps, duration }: VideoSource,
  pace: { fps: number; seconds: number },
): number[] {
  const last = frames - 1;
  if (duration <= pace.seconds) {
    const count = Math.max(Math.floor(duration * pace.fps), 1);
    return Array.from({ length: count }, (_, i) => Math.min(last, Math.ceil((i * fps) / pace.fps)));
  }
  const count = Math.trunc(pace.seconds * pace.fps);
  if (count >= frames) return Array.from({ length: frames }, (_, i) => i);
  return evenly(0, duration, count).map((second) => Math.min(last, Math.ceil(second * fps)));
}

/** Steps in a second, by the longest video that has them. Source: transformers' video_processing_glm46v. */
const PACES = [
  { seconds: 30, steps: 3 },
  { seconds: 300, steps: 1 },
  { seconds: Infinity, steps: 0.5 },
];
const MOST = { seconds: 2400, frames: 640 };

function pacedByLength({ frames, fps, duration }: VideoSource, step: number): number[] {
  const seconds = Math.min(duration, MOST.seconds);
  const perSecond = step * PACES.find((pace) => seconds <= pace.seconds)!.steps;
  const count = Math.max(1, Math.min(Math.trunc(seconds * perSecond), MOST.frames));
  const spread = (first: number, last: number): number[] => evenly(first, last, count).map(Math.floor);
  if (frames < count) return spread(0, frames - 1);
  const found: number[] = [];
  let next = 0;
  for (let frame = 0; frame < frames; frame++) {
    if (frame * (1 / fps) < next) continue;
    next += 1 / perSecond;
    found.push(frame);
    if (next >= Math.trunc(duration)) break;
  }
  if (found.length === count) return found;
  return found.length < count ? spread(found[0]!, found.at(-1)!) : spread(0, frames - 1);
}

/** Numbers in equal distances, both ends included. */
function evenly(first: number, last: number, count: number): number[] {
  const step = count > 1 ? (last - first) / (count - 1) : 0;
  return Array.from({ length: count }, (_, i) => (i > 0 && i === count - 1 ? last : i * step + first));
}

function fitted(
  { processor }: GlmVideoConfig,
  frame: Pixels,
  source: VideoSource,
  count: number,
): Generator<void, Pixels, void> {
  return resized(frame, glmSize(source, processor, count), { filter: 'bicubic', rowsFirst: true });
}

function* prepareClip(vision: FramesConfig, config: GlmVideoConfig, clip: Clip): Preparation {
  const { processor, pace } = config;
  const { indices, source, frames } = clip;
  const size = glmSize(source, processor, frames.length);
  const cells = (size.width * size.height) / (processor.patch * processor.merge) ** 2;
  yield Math.ceil(frames.length / processor.frames) * cells;
  const shown: Pixels[] = [];
  for (const frame of frames) shown.push(yield* fitted(config, frame, source, frames.length));
  const steps = stepsOf(shown, processor.frames);
  const { inputs, rows, columns } = yield* prepareFrames(vision, processor, steps);
  const parts = steps.flatMap((_, i): (string | number)[] => {
    const seconds = indices[Math.min(2 * i, indices.length - 1)]! / source.fps;
    const told = pace === null ? `${oneDigit(seconds)} seconds` : String(Math.trunc(seconds));
    return ['<|begin_of_image|>', cells, `<|end_of_image|>${told}`];
  });
  return {
    parts,
    token: '<|image|>',
    tower: 'vision',
    inputs,
    layout: null,
    grid: { times: [0], rows, columns },
  };
}
