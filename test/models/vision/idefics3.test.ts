// Idefics3 and SmolVLM against transformers: tiles of odd images, and the tower.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { readSafetensors } from '../../../src/files/tensors/safetensors.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import { openDiskSource } from '../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { mediaFamily, mediaHalf } from '../../../src/models/towers/media-families.ts';
import type { Json } from '../../../src/models/config-values.ts';
import type { MediaFiles, PreparedMedium } from '../../../src/models/media.ts';
import { readIdefics3 } from '../../../src/models/vision/idefics3-config.ts';
import { idefics3Tower } from '../../../src/models/vision/idefics3.ts';
import { finished } from '../../../src/models/preparation.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues, type Values } from '../image-golden.ts';
import { GOLDEN as INTERNVL } from './internvl-golden.ts';

const FOLDER = fileURLToPath(new URL('../../golden/idefics3', import.meta.url));
const [SIDE, PATCH] = [24, 4];
const NAMES = ['idefics3', 'smolvlm'];

const readJson = (path: string): Json => JSON.parse(readFileSync(path, 'utf8')) as Json;

interface Golden {
  images: Record<string, { tiles: number; sha256: string }>;
  media_images: Record<string, { tiles: number; sha256: string }>;
}

const goldenOf = (name: string): Golden => readJson(`${FOLDER}/${name}.json`) as unknown as Golden;

function filesOf(name: string, processor: Json = {}): MediaFiles {
  const stored = readJson(`${FOLDER}/${name}/processor_config.json`);
  const image = { ...(stored['image_processor'] as Json), ...processor };
  const processors = { 'processor_config.json': { ...stored, image_processor: image } };
  return { config: readJson(`${FOLDER}/${name}/config.json`), processors, hidden: 32 };
}

function readerWith(name: string, processor: Json = {}) {
  const files = filesOf(name, processor);
  return mediaFamily((files.config['architectures'] as string[])[0]!)!.read(files).readers.image!;
}

/** Tiles, and the digest of their bytes [tiles, 3, side, side], of which the prepared values were made. */
function digestOf({ inputs }: PreparedMedium): { tiles: number; sha256: string } {
  const { shape, data } = inputs['patches']!;
  const [tiles, patches] = shape as [number, number];
  const made = new Uint8Array(data.length);
  const across = SIDE / PATCH;
  let from = 0;
  for (let tile = 0; tile < tiles; tile++)
    for (let at = 0; at < patches; at++)
      for (let channel = 0; channel < 3; channel++)
        for (let i = 0; i < PATCH * PATCH; i++) {
          const y = Math.floor(at / across) * PATCH + Math.floor(i / PATCH);
          const x = (at % across) * PATCH + (i % PATCH);
          made[((tile * 3 + channel) * SIDE + y) * SIDE + x] = Math.round((data[from++]! * 0.5 + 0.5) * 255);
        }
  return { tiles, sha256: createHash('sha256').update(made).digest('hex') };
}

describe.each(NAMES)('the processor of %s', (name) => {
  it('cuts odd images into the tiles of transformers', async () => {
    const { alpha, prepare } = readerWith(name);
    const golden = goldenOf(name);
    for (const [title, { file }] of Object.entries(INTERNVL.images)) {
      const bytes = new Uint8Array(Buffer.from(file, 'base64'));
      const image = await readImage(bytes, 'image', { bounds: { maxImagePixels: 1e6 }, alpha });
      expect(digestOf(finished(prepare(image, {}))), title).toEqual(golden.images[title]);
    }
    const stored = JSON.parse(
      readFileSync(fileURLToPath(new URL('../../golden/media-images.json', import.meta.url)), 'utf8'),
    ) as { name: string; size: [number, number]; rgb?: string }[];
    for (const { name: title, size, rgb } of stored) {
      if (rgb === undefined) continue;
      const [width, height] = size;
      const data = new Uint8Array(inflateSync(Buffer.from(rgb, 'base64')));
      expect(digestOf(finished(prepare({ width, height, data }, {}))), title).toEqual(
        golden.media_images[title],
      );
    }
  });
});

it('an image that is not divided is one tile', () => {
  const image = { width: 70, height: 30, data: new Uint8Array(3 * 70 * 30).fill(9) };
  const { inputs, parts } = finished(
    readerWith('idefics3', { do_image_splitting: false }).prepare(image, {}),
  );
  expect(inputs['patches']!.shape[0]).toBe(1);
  expect(parts).toEqual(['<fake_token_around_image><global-img>', 4, '<fake_token_around_image>']);
});

it('the settings of Granite-Docling give 64 rows a tile', () => {
  const vision = { hidden_size: 768, image_size: 512, model_type: 'idefics3_vision', patch_size: 16 };
  const config = {
    architectures: ['Idefics3ForConditionalGeneration'],
    model_type: 'idefics3',
    scale_factor: 4,
    vision_config: { ...vision, num_attention_heads: 12, num_hidden_layers: 12, intermediate_size: 3072 },
    text_config: { model_type: 'llama', architectures: ['VLlama3ForCausalLM'], hidden_size: 576 },
  };
  const image = {
    ...{ do_image_splitting: true, do_pad: true, do_convert_rgb: true, resample: 1 },
    ...{ max_image_size: { longest_edge: 512 }, size: { longest_edge: 2048 } },
  };
  const processors = { 'preprocessor_config.json': image, 'processor_config.json': { image_seq_len: 64 } };
  const { rows, longest, splits, tower } = readIdefics3({ config, processors, hidden: 576 });
  expect({ rows, longest, splits, side: tower.side, out: tower.out }).toEqual({
    ...{ rows: 64, longest: 2048, splits: true, side: 512, out: 576 },
  });
  expect(mediaHalf(config, 'Idefics3ForConditionalGeneration')?.architecture).toBe('LlamaForCausalLM');
});

it('tiles of another size than the images of the tower are refused', () => {
  const prepare = () => readerWith('idefics3', { max_image_size: { longest_edge: 48 } });
  expect(prepare).toThrow(/max_image_size/);
});

it('a processor that was saved for another number of rows is refused', () => {
  const files = filesOf('idefics3');
  const processors = {
    'processor_config.json': { ...files.processors['processor_config.json'], image_seq_len: 9 },
  };
  expect(() => readIdefics3({ ...files, processors })).toThrow(/image_seq_len.* is 9, and a tile has 4 rows/);
});

describe('tower', () => {
  let device: Device;
  beforeAll(async () => void (device = await openModelTestDevice()));
  afterAll(() => device.destroy());

  const cases = [
    { title: 'tuned', as: {}, plain: false, name: 'idefics3' },
    { title: 'tuned', as: {}, plain: false, name: 'smolvlm' },
    { title: 'plain', as: {}, plain: true, name: 'smolvlm' },
    { title: 'bindings of 256 KiB', as: { bindingLimit: 256 << 10 }, plain: false, name: 'idefics3' },
  ];

  it.each(cases.map((one) => [one.title, one.name, one] as const))(
    '%s %s',
    async (_, name, { as, plain }) => {
      const on = disguise(device, as);
      const values = await readValues(`${FOLDER}/${name}.safetensors`);
      const source = await openDiskSource(`${FOLDER}/${name}/model.safetensors`);
      const { tensors } = await readSafetensors(source);
      const own = [...tensors].filter(([key]) => /vision_model|connector/.test(key));
      const named = new Map(own.map(([key, entry]) => [key.replace(/^model\./, ''), entry]));
      const { tower } = readIdefics3(filesOf(name));
      const weights = openWeights(on, named, (table) => idefics3Tower(tower, table), { format: null });
      await weights.load();
      await source.close();
      const patches = patchesOf(values.get('pixels')!);
      const found = await compute(on, (_, input) => [...weights.page({ patches: input(patches) }, null)], {
        plain,
      });
      expectAgreement(found.values[0]!, values.get('rows')!);
    },
  );
});

/** [tiles, 3, side, side] → [tiles, patches, 3 · patch²] */
function patchesOf({ shape, values }: Values): Values {
  const [tiles] = shape as [number];
  const across = SIDE / PATCH;
  const rows: number[] = [];
  for (let tile = 0; tile < tiles; tile++)
    for (let cell = 0; cell < across ** 2; cell++)
      for (let channel = 0; channel < 3; channel++)
        for (let i = 0; i < PATCH ** 2; i++) {
          const y = Math.floor(cell / across) * PATCH + Math.floor(i / PATCH);
          const x = (cell % across) * PATCH + (i % PATCH);
          rows.push(values[((tile * 3 + channel) * SIDE + y) * SIDE + x]!);
        }
  return { shape: [tiles, across ** 2, 3 * PATCH ** 2], values: Float32Array.from(rows) };
}
