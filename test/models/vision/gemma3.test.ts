// Gemma 3 against transformers: odd images as its processor makes them, and the tower.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runOf } from '../../../src/engine/text/towers/medium.ts';
import { readMedia } from '../../../src/engine/text/towers/text-media.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { openCheckpoint, type Checkpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Json } from '../../../src/models/config-values.ts';
import type { MediaFiles, MediaModel, PreparedMedium } from '../../../src/models/media.ts';
import { GEMMA3 } from '../../../src/models/vision/gemma3-media.ts';
import { panAndScan } from '../../../src/models/vision/gemma3-crops.ts';
import { finished } from '../../../src/models/preparation.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues } from '../image-golden.ts';
import { GOLDEN as INTERNVL } from './internvl-golden.ts';

const FOLDER = fileURLToPath(new URL('../../golden/gemma3-media', import.meta.url));
const [SIDE, PATCH, ROWS] = [60, 6, 25];
type Name = 'whole' | 'scan';

const readJson = (path: string): Json => JSON.parse(readFileSync(path, 'utf8')) as Json;

interface SeenImage {
  tiles: number;
  tokens: number;
  /** Of the bytes [tiles, 3, side, side]. */
  sha256: string;
}

/** `changes` to the settings of images, `outer` to those of texts. */
function openModel(name: Name, config: Json = {}, changes: Json = {}, outer: Json = {}): MediaModel {
  const path = `${FOLDER}/${name}`;
  const texts = { ...readJson(`${path}/processor_config.json`), ...outer };
  const file = 'preprocessor_config.json';
  const isOlder = existsSync(`${path}/${file}`);
  const images = isOlder ? readJson(`${path}/${file}`) : (texts['image_processor'] as Json);
  const changed = { ...images, ...changes };
  const processors: MediaFiles['processors'] = isOlder
    ? { 'processor_config.json': texts, [file]: changed }
    : { 'processor_config.json': { ...texts, image_processor: changed } };
  return GEMMA3.read({
    config: { ...readJson(`${path}/config.json`), ...config },
    processors,
    hidden: 44,
  });
}

/** The bytes that the prepared values were made of, and the tokens, one for each byte of the texts. */
function seenOf({ inputs, parts }: PreparedMedium): SeenImage {
  const { shape, data } = inputs['patches']!;
  const [tiles, patches] = shape as [number, number];
  const across = SIDE / PATCH;
  const made = new Uint8Array(data.length);
  let from = 0;
  for (let tile = 0; tile < tiles; tile++)
    for (let at = 0; at < patches; at++)
      for (let channel = 0; channel < 3; channel++)
        for (let i = 0; i < PATCH ** 2; i++) {
          const y = Math.floor(at / across) * PATCH + Math.floor(i / PATCH);
          const x = (at % across) * PATCH + (i % PATCH);
          made[((tile * 3 + channel) * SIDE + y) * SIDE + x] = Math.round((data[from++]! * 0.5 + 0.5) * 255);
        }
  const tokensOf = (part: (typeof parts)[number]): number =>
    typeof part === 'string' ? part.replace(/<\w+>/g, '.').length : runOf(part, '').rows;
  return {
    tiles,
    tokens: parts.reduce<number>((sum, part) => sum + tokensOf(part), 0),
    sha256: createHash('sha256').update(made).digest('hex'),
  };
}

describe.each(['whole', 'scan'] as const)('Gemma 3, %s images', (name) => {
  const golden = readJson(`${FOLDER}/${name}.json`) as unknown as Record<
    'images' | 'media_images',
    Record<string, SeenImage | null>
  >;

  it('sees odd images as transformers does', async () => {
    const { alpha, prepare } = openModel(name).readers.image!;
    const see = async (file: string): Promise<SeenImage> => {
      const bytes = new Uint8Array(Buffer.from(file, 'base64'));
      const image = await readImage(bytes, 'image', { bounds: { maxImagePixels: 1e6 }, alpha });
      return seenOf(finished(prepare(image, {})));
    };
    let compared = 0;
    const compare = async (title: string, file: string, wanted: SeenImage | null | undefined) => {
      if (!wanted) return;
      expect(await see(file), title).toEqual(wanted);
      compared++;
    };
    for (const [title, wanted] of Object.entries(golden.images))
      await compare(title, INTERNVL.images[title]!.file, wanted);
    const path = fileURLToPath(new URL('../../golden/media-images.json', import.meta.url));
    const stored = JSON.parse(readFileSync(path, 'utf8')) as { name: string; file: string }[];
    for (const { name: title, file } of stored) await compare(title, file, golden.media_images[title]);
    expect(compared).toBeGreaterThan(30);
  });
});

it('crops of both directions cover the image, and crops that are too small are not made', () => {
  const rule = { least: 9, most: 3, ratio: 1.3 };
  const sizes = (width: number, height: number) =>
    panAndScan({ width, height, data: new Uint8Array(3 * width * height) }, rule).map((crop) => [
      crop.width,
      crop.height,
    ]);
  expect(sizes(40, 20)).toEqual([
    [20, 20],
    [20, 20],
  ]);
  expect(sizes(20, 61)).toEqual([
    [20, 21],
    [20, 21],
    [20, 19],
  ]);
  expect(sizes(25, 20)).toEqual([]);
  expect(sizes(100, 8)).toEqual([]);
});

it.each([
  ['another filter', {}, { resample: 3 }, {}, 'unsupported'],
  ['images of another size', {}, { size: { height: 60, width: 48 } }, {}, 'unsupported'],
  ['another tower', { vision_config: { model_type: 'clip_vision_model' } }, {}, {}, 'unsupported'],
  ['rows that do not divide the patches', { mm_tokens_per_image: 9 }, {}, {}, 'bad_checkpoint'],
  ['texts for another number of rows', {}, {}, { image_seq_length: 24 }, 'bad_checkpoint'],
])('a configuration of Gemma 3 is refused with %s', (_, config, changes, outer, code) => {
  expect(() => openModel('whole', config, changes, outer)).toThrow(expect.objectContaining({ code }));
});

describe('tower', () => {
  let device: Device;
  beforeAll(async () => void (device = await openModelTestDevice()));
  afterAll(() => device.destroy());

  const cases: [string, Name, { bindingLimit?: number }, boolean][] = [
    ['tuned', 'whole', {}, false],
    ['tuned', 'scan', {}, false],
    ['plain', 'scan', {}, true],
    ['bindings of 256 KiB', 'whole', { bindingLimit: 256 << 10 }, false],
  ];

  it.each(cases)('%s %s', async (_, name, as, plain) => {
    const on = disguise(device, as);
    const values = await readValues(`${FOLDER}/${name}.safetensors`);
    const checkpoint: Checkpoint = await openCheckpoint(
      await openDiskFolder(`${FOLDER}/${name}`),
      TEXT_CLASSES,
    );
    const { model, tensors } = readMedia(checkpoint, { hidden: 44 }, () => {})!;
    expect(model.spans).toBe(ROWS);
    const pixels = { width: SIDE, height: SIDE, data: new Uint8Array(3 * SIDE * SIDE) };
    const prepared = finished(model.readers.image!.prepare(pixels, {}));
    const weights = openWeights(on, tensors, model.towers[prepared.tower]!, { format: null });
    await weights.load();
    await checkpoint.close();
    const { sources, shares } = prepared.inputs as Record<string, { shape: number[]; data: Float32Array }>;
    const { shape, values: given } = values.get('pixels')!;
    const found = await compute(
      on,
      (_, input) => [
        ...weights.page(
          {
            patches: input({
              shape: [shape[0]!, (SIDE / PATCH) ** 2, 3 * PATCH ** 2],
              values: patchesOf(given),
            }),
            sources: input({ shape: sources!.shape, values: Float32Array.from(sources!.data) }, true),
            shares: input({ shape: shares!.shape, values: shares!.data }),
          },
          prepared.layout,
        ),
      ],
      { plain },
    );
    expectAgreement(found.values[0]!, values.get('rows')!);
  });
});

/** [images, 3, side, side] → [images, patches, 3 · patch²] */
function patchesOf(pixels: Float32Array): Float32Array {
  const made: number[] = [];
  for (let first = 0; first < pixels.length; first += 3 * SIDE * SIDE)
    for (let top = 0; top < SIDE; top += PATCH)
      for (let left = 0; left < SIDE; left += PATCH)
        for (let channel = 0; channel < 3; channel++)
          for (let i = 0; i < PATCH ** 2; i++) {
            const y = top + Math.floor(i / PATCH);
            made.push(pixels[first + (channel * SIDE + y) * SIDE + left + (i % PATCH)]!);
          }
  return Float32Array.from(made);
}
