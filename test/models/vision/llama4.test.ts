// Llama 4's images against transformers: odd images on their canvases, and the tower.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { readMedia } from '../../../src/engine/text/towers/text-media.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import type { Json } from '../../../src/models/config-values.ts';
import type { MediaModel, PreparedMedium } from '../../../src/models/media.ts';
import { finished } from '../../../src/models/preparation.ts';
import { LLAMA4_VISION } from '../../../src/models/vision/llama4/llama4-media.ts';
import { canvasGrid } from '../../../src/models/vision/llama4/llama4-tiles.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues } from '../image-golden.ts';
import { GOLDEN as INTERNVL } from './internvl-golden.ts';

const ROOT = fileURLToPath(new URL('../../golden', import.meta.url));
const FOLDER = `${ROOT}/llama4-media`;
const HIDDEN = 48;

interface SeenImage {
  tokens: number;
  /** Of the bf16 values of the patches. */
  sha256: string;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const golden = readJson(`${FOLDER}/small.json`) as Record<
  'images' | 'media_images',
  Record<string, SeenImage | null>
>;

/** `vision`, `images` and `texts`: changes to the settings of the tower, of images and of the processor. */
function openModel(vision: Json = {}, images: Json = {}, texts: Json = {}): MediaModel {
  const config = readJson(`${FOLDER}/small/config.json`) as Record<string, Json>;
  const settings = readJson(`${FOLDER}/small/processor_config.json`) as Record<string, Json>;
  const image_processor = { ...settings['image_processor'], ...images };
  return LLAMA4_VISION.read({
    config: { ...config, vision_config: { ...config['vision_config'], ...vision } },
    processors: { 'processor_config.json': { ...settings, ...texts, image_processor } },
    hidden: HIDDEN,
  });
}

function seenOf({ inputs, parts }: PreparedMedium): SeenImage {
  const { data } = inputs['patches'] as { data: Float32Array };
  const words = new Uint32Array(data.buffer);
  expect(words.every((word) => word % 2 ** 16 === 0)).toBe(true);
  const bits = Uint16Array.from(words, (word) => word >>> 16);
  return {
    tokens: parts.reduce<number>((sum, part) => sum + (typeof part === 'number' ? part : 1), 0),
    sha256: createHash('sha256').update(new Uint8Array(bits.buffer)).digest('hex'),
  };
}

it('odd images are seen as by the processor of transformers', async () => {
  const { alpha, prepare } = openModel().readers.image!;
  const stored = readJson(`${ROOT}/media-images.json`) as { name: string; file: string }[];
  const files = [
    ...Object.entries(golden.images).map(
      ([title, seen]) => [title, INTERNVL.images[title]!.file, seen] as const,
    ),
    ...stored.map(({ name, file }) => [name, file, golden.media_images[name]] as const),
  ].filter(([, , seen]) => seen != null);
  expect(files.length).toBeGreaterThan(20);
  for (const [title, file, wanted] of files) {
    const bytes = new Uint8Array(Buffer.from(file, 'base64'));
    const image = await readImage(bytes, 'image', { bounds: { maxImagePixels: 1e6 }, alpha });
    expect(seenOf(finished(prepare(image, {}))), title).toEqual(wanted);
  }
});

it('tokens stand between tiles, behind rows of them, and before the one that shows all', () => {
  const image = { width: 70, height: 40, data: new Uint8Array(3 * 70 * 40) };
  const { prepare } = openModel().readers.image!;
  const [between, end] = ['<|tile_x_separator|>', '<|tile_y_separator|>'];
  expect(finished(prepare(image, {})).parts).toEqual([
    '<|image_start|>',
    ...[9, between, 9, between, 9, end, 9, between, 9, between, 9, end],
    ...['<|image|>', 9, '<|image_end|>'],
  ]);
  expect(finished(prepare(image, { maxTiles: 1 })).parts).toHaveLength(4);
});

it.each([
  [{ width: 300, height: 200 }, false, { columns: 2, rows: 1 }],
  [{ width: 224, height: 224 }, false, { columns: 1, rows: 1 }],
  [{ width: 100, height: 100 }, true, { columns: 2, rows: 2 }],
  [{ width: 9000, height: 90 }, false, { columns: 5, rows: 1 }],
])('the canvas of %j, filled: %s', (image, fills, grid) => {
  expect(canvasGrid(image, { side: 224, fills, bounds: { min: 1, max: 5 } })).toEqual(grid);
});

it.each([
  ['cells of half patches', { pixel_shuffle_ratio: 0.4 }, {}, {}, 'unsupported'],
  ['other columns of a cell', { intermediate_size: 100 }, {}, {}, 'unsupported'],
  ['another filter', {}, { resample: 3 }, {}, 'unsupported'],
  ['tiles of another size', {}, { size: { height: 12, width: 12 } }, {}, 'unsupported'],
  ['texts for other patches', {}, {}, { patch_size: 14 }, 'unsupported'],
])('a configuration is refused with %s', (_, vision, images, texts, code) => {
  expect(() => openModel(vision, images, texts)).toThrow(expect.objectContaining({ code }));
});

it('rows of five tiles are those of transformers', async () => {
  const device = await openModelTestDevice();
  const values = await readValues(`${FOLDER}/small.safetensors`);
  const checkpoint = await openCheckpoint(await openDiskFolder(`${FOLDER}/small`), TEXT_CLASSES);
  const { model, tensors } = readMedia(checkpoint, { hidden: HIDDEN }, () => {})!;
  const image = { width: 9, height: 9, data: new Uint8Array(3 * 81) };
  const { tower, inputs } = finished(model.readers.image!.prepare(image, {}));
  const weights = openWeights(device, tensors, model.towers[tower]!, { format: null });
  await weights.load();
  await checkpoint.close();
  const { shape, data } = inputs['rotations']!;
  const found = await compute(device, (_tape, input) => [
    ...weights.page(
      {
        patches: input(values.get('patches')!),
        rotations: input({ shape, values: Float32Array.from(data) }),
      },
      null,
    ),
  ]);
  expectAgreement(found.values[0]!, values.get('rows')!);
  device.destroy();
});
