// Pixtral and Mistral 3 against transformers: odd images as their processor makes them, and the tower.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { readSafetensors } from '../../../src/files/tensors/safetensors.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import { openDiskSource } from '../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Json } from '../../../src/models/config-values.ts';
import { mediaFamily } from '../../../src/models/towers/media-families.ts';
import type { MediaFiles, MediaModel, PreparedMedium } from '../../../src/models/media.ts';
import { finished } from '../../../src/models/preparation.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues } from '../image-golden.ts';
import { GOLDEN as INTERNVL } from './internvl-golden.ts';

const FOLDER = fileURLToPath(new URL('../../golden/pixtral', import.meta.url));
const MEANS = [0.48145466, 0.4578275, 0.40821073];
const SPREADS = [0.26862954, 0.26130258, 0.27577711];
/** Pixels along a side of a patch. */
const PATCHES = { pixtral: 6, mistral3: 4 };
type Name = keyof typeof PATCHES;

const readJson = (path: string): Json => JSON.parse(readFileSync(path, 'utf8')) as Json;

interface SeenImage {
  /** Height and width after the processor. */
  size: [number, number];
  tokens: number;
  /** Of the bytes [3, height, width]. */
  sha256: string;
}

interface Golden {
  images: Record<string, SeenImage>;
  media_images: Record<string, SeenImage>;
}

/** `changes` to the settings of images, `outer` to those of texts. */
function filesOf(name: Name, config: Json = {}, changes: Json = {}, outer: Json = {}): MediaFiles {
  const path = `${FOLDER}/${name}`;
  const texts = { ...readJson(`${path}/processor_config.json`), ...outer };
  const file = 'preprocessor_config.json';
  const isOlder = existsSync(`${path}/${file}`);
  const images = isOlder ? readJson(`${path}/${file}`) : (texts['image_processor'] as Json);
  const changed = { ...images, ...changes };
  return {
    config: { ...readJson(`${path}/config.json`), ...config },
    processors: isOlder
      ? { 'processor_config.json': texts, [file]: changed }
      : { 'processor_config.json': { ...texts, image_processor: changed } },
    hidden: 40,
  };
}

function openModel(...args: Parameters<typeof filesOf>): MediaModel {
  const files = filesOf(...args);
  return mediaFamily((files.config['architectures'] as string[])[0]!)!.read(files);
}

/** The bytes that the prepared values were made of. */
function seenOf({ inputs, layout, parts }: PreparedMedium, patch: number): SeenImage {
  const { rows, columns } = layout as { rows: number; columns: number };
  const { data } = inputs['patches']!;
  const [height, width] = [rows * patch, columns * patch];
  const made = new Uint8Array(data.length);
  let from = 0;
  for (let cell = 0; cell < rows * columns; cell++)
    for (let channel = 0; channel < 3; channel++)
      for (let i = 0; i < patch ** 2; i++) {
        const y = Math.floor(cell / columns) * patch + Math.floor(i / patch);
        const x = (cell % columns) * patch + (i % patch);
        const value = data[from++]! * SPREADS[channel]! + MEANS[channel]!;
        made[(channel * height + y) * width + x] = Math.round(value * 255);
      }
  return {
    size: [height, width],
    tokens: parts.reduce<number>((sum, part) => sum + (typeof part === 'number' ? part : 1), 0),
    sha256: createHash('sha256').update(made).digest('hex'),
  };
}

describe.each(['pixtral', 'mistral3'] as const)('the processor of %s', (name) => {
  const golden = readJson(`${FOLDER}/${name}.json`) as unknown as Golden;

  it('sees odd images as transformers does', async () => {
    const { alpha, prepare } = openModel(name).readers.image!;
    const see = async (file: string): Promise<SeenImage> => {
      const bytes = new Uint8Array(Buffer.from(file, 'base64'));
      const image = await readImage(bytes, 'image', { bounds: { maxImagePixels: 1e6 }, alpha });
      return seenOf(finished(prepare(image, {})), PATCHES[name]);
    };
    for (const [title, wanted] of Object.entries(golden.images))
      expect(await see(INTERNVL.images[title]!.file), title).toEqual(wanted);
    const path = fileURLToPath(new URL('../../golden/media-images.json', import.meta.url));
    const stored = JSON.parse(readFileSync(path, 'utf8')) as { name: string; file: string }[];
    for (const { name: title, file } of stored) {
      const wanted = golden.media_images[title];
      if (wanted) expect(await see(file), title).toEqual(wanted);
    }
  });
});

it('a line that shrinks to nothing has one cell', () => {
  const image = { width: 1, height: 500, data: new Uint8Array(1500).fill(9) };
  expect(finished(openModel('mistral3').readers.image!.prepare(image, {})).layout).toEqual({
    rows: 16,
    columns: 2,
  });
});

it('bounds of both sides are those of the file', () => {
  const image = { width: 90, height: 90, data: new Uint8Array(3 * 90 * 90) };
  const { prepare } = openModel('pixtral', {}, { size: { height: 24, width: 80 } }).readers.image!;
  expect(finished(prepare(image, {})).layout).toEqual({ rows: 4, columns: 4 });
});

it.each([
  ['towers of other models', {}, { vision_config: { model_type: 'clip_vision_model' } }, {}, 'unsupported'],
  ['features of several layers', {}, { vision_feature_layer: [-2, -1] }, {}, 'unsupported'],
  ['a layer that the tower does not have', {}, { vision_feature_layer: 7 }, {}, 'bad_checkpoint'],
  ['a first patch that is dropped', {}, { vision_feature_select_strategy: 'default' }, {}, 'unsupported'],
  ['another filter', { resample: 1 }, {}, {}, 'unsupported'],
  ['texts for other patches', {}, {}, { patch_size: 8 }, 'bad_checkpoint'],
  ['texts for cells', {}, {}, { spatial_merge_size: 2 }, 'bad_checkpoint'],
])('a configuration of Pixtral is refused with %s', (_, changes, config, outer, code) => {
  expect(() => openModel('pixtral', config, changes, outer)).toThrow(expect.objectContaining({ code }));
});

describe('tower', () => {
  let device: Device;
  beforeAll(async () => void (device = await openModelTestDevice()));
  afterAll(() => device.destroy());

  const cases: [string, Name, { bindingLimit?: number }, boolean][] = [
    ['tuned', 'pixtral', {}, false],
    ['tuned', 'mistral3', {}, false],
    ['plain', 'mistral3', {}, true],
    ['bindings of 256 KiB', 'mistral3', { bindingLimit: 256 << 10 }, false],
  ];

  it.each(cases)('%s %s', async (_, name, as, plain) => {
    const on = disguise(device, as);
    const values = await readValues(`${FOLDER}/${name}.safetensors`);
    const { shape, values: pixels } = values.get('pixels')!;
    const [height, width] = shape.slice(2) as [number, number];
    const model = openModel(name);
    // The values of these patches are replaced.
    const prepared = finished(
      model.readers.image!.prepare({ width, height, data: new Uint8Array(3 * width * height) }, {}),
    );
    const source = await openDiskSource(`${FOLDER}/${name}/model.safetensors`);
    const { tensors } = await readSafetensors(source);
    const own = [...tensors].filter(([key]) => /vision_tower|multi_modal_projector/.test(key));
    const named = new Map(own.map(([key, entry]) => [key.replace(/^model\./, ''), entry]));
    const weights = openWeights(on, named, model.towers[prepared.tower]!, { format: null });
    await weights.load();
    await source.close();
    const patches = {
      shape: prepared.inputs['patches']!.shape,
      values: patchesOf(pixels, width, height, PATCHES[name]),
    };
    const rotations = prepared.inputs['rotations']!;
    const found = await compute(
      on,
      (_, input) => [
        ...weights.page(
          {
            patches: input(patches),
            rotations: input({ shape: rotations.shape, values: rotations.data as Float32Array }),
          },
          prepared.layout,
        ),
      ],
      { plain },
    );
    expectAgreement(found.values[0]!, values.get('rows')!);
  });
});

/** [3, height, width] → [patches, 3 · patch²] */
function patchesOf(pixels: Float32Array, width: number, height: number, patch: number): Float32Array {
  const made: number[] = [];
  for (let top = 0; top < height; top += patch)
    for (let left = 0; left < width; left += patch)
      for (let channel = 0; channel < 3; channel++)
        for (let i = 0; i < patch ** 2; i++) {
          const y = top + Math.floor(i / patch);
          made.push(pixels[(channel * height + y) * width + left + (i % patch)]!);
        }
  return Float32Array.from(made);
}
