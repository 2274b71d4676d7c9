// What the processors of videos make of many clips, against transformers: chosen frames, prompts, grids, times, and values within its rounding.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mediaFamily } from '../../../src/models/towers/media-families.ts';
import type { MediaFiles, PreparedMedium, VideoReader } from '../../../src/models/media.ts';
import { numberWords } from '../../../src/models/vision/number-words.ts';
import { finished } from '../../../src/models/preparation.ts';
import { frameOf } from './drawn-clips.ts';

interface Settings {
  patch_size?: number;
  image_mean: number[];
  image_std: number[];
  max_image_size?: { longest_edge: number };
}

/** null: transformers refuses the clip. */
type Seen = {
  indices: number[];
  text: string;
  values: number;
  bytes: string;
  grid?: number[];
  times?: number[];
} | null;

type ClipSizes = [frames: number, fps: number, width: number, height: number];

const readJson = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../golden/${name}`, import.meta.url), 'utf8'));

const golden = readJson('video-processors.json') as {
  clips: Record<string, ClipSizes>;
  processors: Record<string, { checkpoint: string; settings: Settings; clips: Record<string, Seen> }>;
  choices: Record<string, [frames: number, fps: number, digest: string | null][]>;
  words: Record<string, string>;
};
/** Places of the values that the golden has. */
const STEP = 1_000_003;

/** `side`: of the tower's images. */
function readerOf(
  checkpoint: string,
  settings: object,
  image = {},
  side = (settings as Settings).max_image_size?.longest_edge,
): VideoReader {
  const config = readJson(`${checkpoint}/config.json`) as MediaFiles['config'];
  const { patch_size: patch } = settings as Settings;
  const vision_config = {
    ...(config['vision_config'] as object),
    ...(patch !== undefined && { patch_size: patch, window_size: 4 * patch }),
    ...(side !== undefined && { image_size: side }),
  };
  const processors: MediaFiles['processors'] = checkpoint.startsWith('media')
    ? { 'preprocessor_config.json': {}, 'video_preprocessor_config.json': { ...settings } }
    : { 'processor_config.json': { image_processor: image, video_processor: settings } };
  const family = mediaFamily((config['architectures'] as string[])[0]!)!;
  return family.read({ config: { ...config, vision_config }, processors, hidden: 48 }).readers.video!;
}

type Values = (at: number) => readonly [value: number, channel: number];

/** Values of tiles [tiles, 3, side, side]. */
function tileValues({ inputs }: PreparedMedium): Values {
  const { shape, data } = inputs['patches']!;
  const [, patches, columns] = shape as [number, number, number];
  const [across, patch] = [Math.sqrt(patches), Math.sqrt(columns / 3)];
  const side = across * patch;
  return (at) => {
    const [x, y] = [at % side, Math.floor(at / side) % side];
    const channel = Math.floor(at / side ** 2) % 3;
    const cell = Math.floor(y / patch) * across + Math.floor(x / patch);
    const inside = channel * patch ** 2 + (y % patch) * patch + (x % patch);
    const tile = Math.floor(at / (3 * side ** 2));
    return [data[(tile * patches + cell) * columns + inside]!, channel];
  };
}

/** Values of patches in the processor's order, which towers with windows change and tell by `places`. */
function patchValues({ inputs }: PreparedMedium): Values {
  const { shape, data } = inputs['patches']!;
  const columns = shape.at(-1)!;
  const places = inputs['places']?.data;
  return (at) => {
    const [patch, column] = [Math.floor(at / columns), at % columns];
    return [data[(places ? places[patch]! : patch) * columns + column]!, Math.floor((3 * column) / columns)];
  };
}

const sourceOf = ([frames, fps, width, height]: ClipSizes) => ({
  width,
  height,
  frames,
  fps,
  duration: frames / fps,
});

function seenBy(reader: VideoReader, [frames, fps, width, height]: ClipSizes) {
  const source = sourceOf([frames, fps, width, height]);
  const indices = reader.frames(source);
  const fit = reader.fit ?? ((frame) => frame);
  const shown = indices.map((t) => fit(frameOf(t, source), source, {}));
  return { indices, prepared: finished(reader.prepare({ source, indices, frames: shown }, {})) };
}

/** The largest and the mean distance of bytes to those of transformers. */
function distances(valueAt: Values, wanted: NonNullable<Seen>, { image_mean, image_std }: Settings) {
  const bytes = Buffer.from(wanted.bytes, 'base64');
  const errors = Array.from(bytes, (byte, i) => {
    const [value, channel] = valueAt((i * STEP) % wanted.values);
    return Math.abs((value * image_std[channel]! + image_mean[channel]!) * 255 - byte);
  });
  return [Math.max(...errors), errors.reduce((sum, error) => sum + error, 0) / errors.length] as const;
}

describe.each(Object.entries(golden.processors))('processor %s', (_, { checkpoint, settings, clips }) => {
  const side = settings.max_image_size?.longest_edge;
  const image = checkpoint.startsWith('idefics3')
    ? { max_image_size: { longest_edge: side }, size: { longest_edge: 67 } }
    : { size: { height: 24, width: 24 } };
  const reader = readerOf(checkpoint, settings, image);

  it.each(Object.entries(clips))('%s', (title, wanted) => {
    const sizes = golden.clips[title]!;
    if (wanted === null && title === 'too narrow' && reader.placeholder !== '<video>') {
      expect(() => seenBy(reader, sizes)).toThrow('402 × 2 pixels is too narrow');
      return;
    }
    const { indices, prepared } = seenBy(reader, sizes);
    const text = prepared.parts
      .map((part) =>
        typeof part === 'string'
          ? part
          : typeof part === 'number'
            ? `{${part}}`
            : `{${part.token} ${part.rows}}`,
      )
      .join('');
    const { data } = prepared.inputs['patches']!;
    // Transformers refuses videos with fewer frames than it wants; here all of them are taken.
    if (wanted === null) {
      expect(new Set(indices).size).toBe(indices.length);
      expect(data.every(Number.isFinite)).toBe(true);
      return;
    }
    expect(indices).toEqual(wanted.indices);
    expect(text).toBe(wanted.text);
    expect(data).toHaveLength(wanted.values);
    const { grid } = prepared;
    if (wanted.grid) {
      const steps = Math.ceil(indices.length / 2);
      expect([steps, grid!.rows * 2, grid!.columns * 2]).toEqual(wanted.grid);
    }
    if (wanted.times) expect(grid!.times).toEqual(wanted.times);
    const values = wanted.grid ? patchValues(prepared) : tileValues(prepared);
    const [most, mean] = distances(values, wanted, settings);
    // torchvision's weights have fewer bits. Demanded are 2 and 0.255.
    expect(most).toBeLessThan(2.01);
    expect(mean).toBeLessThan(0.05);
  });
});

it.each([
  ['qwen2-5-vl', 'media/qwen2-5-vl', { fps: 2 }],
  ['qwen3-vl', 'media/qwen3-vl', { fps: 2 }],
  ['internvl', 'internvl/qwen2', { num_frames: 32, size: { height: 24, width: 24 } }],
  ['smolvlm', 'idefics3/smolvlm', { fps: 1, num_frames: 64, max_image_size: { longest_edge: 24 } }],
] as const)('the processor %s chooses the frames of many clips', (name, checkpoint, settings) => {
  const image = checkpoint.startsWith('idefics3')
    ? { max_image_size: { longest_edge: 24 } }
    : { size: { height: 24, width: 24 } };
  const reader = readerOf(checkpoint, settings, image);
  let compared = 0;
  for (const [frames, fps, wanted] of golden.choices[name]!) {
    const indices = reader.frames(sourceOf([frames, fps, 20, 20]));
    expect(indices.every((index, i) => index < frames && (i === 0 || index > indices[i - 1]!))).toBe(true);
    if (wanted === null) continue;
    const digest = createHash('sha256').update(indices.join(',')).digest('hex').slice(0, 16);
    expect(digest, `${frames} frames at ${fps}`).toBe(wanted);
    compared++;
  }
  expect(compared).toBeGreaterThan(60);
});

it('numbers of frames are written in words', () => {
  for (const [number, words] of Object.entries(golden.words)) expect(numberWords(Number(number))).toBe(words);
});

it('settings of videos that are not built are refused', () => {
  expect(() => readerOf('media/qwen2-5-vl', { num_frames: 8 })).toThrow(
    'video_preprocessor_config.json: num_frames 8 is not built; choose a checkpoint that has null',
  );
  const image = { max_image_size: { longest_edge: 24 } };
  const video = { max_image_size: { longest_edge: 48 } };
  const read = () => readerOf('idefics3/smolvlm', video, image, 24);
  expect(read).toThrow(
    "processor_config.json: video_processor: max_image_size has a longest_edge of 48, and only frames as large as the tower's images, 24, are built",
  );
});
