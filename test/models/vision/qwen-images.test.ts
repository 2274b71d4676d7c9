// What Qwen's processors make of odd images, against transformers: grids, tokens, and every value of the patches in order.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readImage } from '../../../src/files/media/read-image.ts';
import { mediaFamily } from '../../../src/models/towers/media-families.ts';
import type { MediaFiles, PreparedMedium } from '../../../src/models/media.ts';
import { finished } from '../../../src/models/preparation.ts';

interface Settings {
  patch_size: number;
  merge_size: number;
  temporal_patch_size: number;
  image_mean: number[];
  image_std: number[];
  size: { shortest_edge: number; longest_edge: number };
}

/** Of the bytes whose normalized values the patches hold. null: the image is refused. */
type SeenImage = { grid: number[]; tokens: number; sha256: string } | null;

const readJson = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../golden/${name}`, import.meta.url), 'utf8'));

const golden = readJson('qwen-images.json') as {
  files: Record<string, string>;
  processors: Record<string, { settings: Settings; images: Record<string, SeenImage> }>;
};
const { images } = readJson('internvl/images.json') as { images: Record<string, { file: string }> };
const others = readJson('media-images.json') as { name: string; file: string }[];
const files = new Map([
  ...Object.entries(golden.files),
  ...Object.entries(images).map(([name, { file }]) => [name, file] as const),
  ...others.map(({ name, file }) => [name, file] as const),
]);

function readerOf(name: string, settings: Settings) {
  const config = readJson(`media/${name}/config.json`) as MediaFiles['config'];
  const { patch_size, merge_size: spatial_merge_size } = settings;
  const inner = config['vision_config'] as object;
  const vision_config = { ...inner, patch_size, spatial_merge_size, window_size: 4 * patch_size };
  const processors = { 'preprocessor_config.json': { ...settings } };
  const family = mediaFamily((config['architectures'] as string[])[0]!)!;
  return family.read({ config: { ...config, vision_config }, processors, hidden: 48 }).readers.image!;
}

/** Bytes of the patches in the processor's order, which towers with windows change and tell by `places`. */
function bytesOf({ inputs }: PreparedMedium, { image_mean, image_std }: Settings): Uint8Array {
  const { shape, data } = inputs['patches']!;
  const columns = shape.at(-1)!;
  const made = new Uint8Array(data.length);
  const places = inputs['places']?.data;
  const ofChannel = columns / 3;
  let furthest = 0;
  for (let patch = 0; patch < data.length / columns; patch++) {
    const from = (places ? places[patch]! : patch) * columns;
    for (let column = 0; column < columns; column++) {
      const channel = Math.floor(column / ofChannel);
      const [mean, spread] = [image_mean[channel]!, image_std[channel]!];
      const byte = Math.round((data[from + column]! * spread + mean) * 255);
      made[patch * columns + column] = byte;
      furthest = Math.max(furthest, Math.abs((byte / 255 - mean) / spread - data[from + column]!));
    }
  }
  expect(furthest).toBeLessThan(1e-5);
  return made;
}

it.each([
  ['qwen2-vl', 'qwen2'],
  ['qwen2-5-vl', 'qwen2'],
  ['qwen2-5-vl', 'small'],
  ['qwen3-vl', 'qwen3'],
  ['qwen3-5', 'small'],
])('the processor of %s sees odd images as transformers does, with settings %s', async (name, key) => {
  const { settings, images: listed } = golden.processors[key]!;
  const { alpha, prepare } = readerOf(name, settings);
  let compared = 0;
  for (const [title, wanted] of Object.entries(listed)) {
    const bytes = new Uint8Array(Buffer.from(files.get(title)!, 'base64'));
    const image = await readImage(bytes, 'image', { bounds: { maxImagePixels: 1e6 }, alpha });
    if (!wanted) {
      const problem = `an image of ${image.width} × ${image.height} pixels is too narrow: one side may be at most 200 times the other`;
      expect(() => finished(prepare(image, {})), title).toThrow(problem);
      continue;
    }
    const prepared = finished(prepare(image, {}));
    const { times, rows, columns } = prepared.grid!;
    const { merge_size: merge } = settings;
    expect([times.length, rows * merge, columns * merge], title).toEqual(wanted.grid);
    expect(prepared.parts, title).toEqual([wanted.tokens]);
    const digest = createHash('sha256').update(bytesOf(prepared, settings)).digest('hex');
    expect(digest, title).toBe(wanted.sha256);
    compared++;
  }
  expect(compared).toBe(50);
});
