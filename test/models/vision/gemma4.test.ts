// Gemma 4 against transformers: odd images and clips as its processors make them, and the tower.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMedia } from '../../../src/engine/text/towers/text-media.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';
import type { Json } from '../../../src/models/config-values.ts';
import type { MediaModel, PreparedMedium } from '../../../src/models/media.ts';
import { finished } from '../../../src/models/preparation.ts';
import { readGemma4Images, readGemma4Vision } from '../../../src/models/vision/gemma4-config.ts';
import { gemma4Inputs } from '../../../src/models/vision/gemma4-image.ts';
import { GEMMA4 } from '../../../src/models/vision/gemma4-media.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues } from '../image-golden.ts';
import { frameOf } from './drawn-clips.ts';
import { GOLDEN as INTERNVL } from './internvl-golden.ts';

const FOLDER = fileURLToPath(new URL('../../golden/gemma4-media', import.meta.url));
const HIDDEN = 48;
/** Places of the values of clips that the golden has. */
const STEP = 1_000_003;

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

interface SeenImage {
  tokens: number;
  /** Column and row of the last patch. */
  size: number[];
  /** Of the bytes of the patches, pixel by pixel. */
  sha256: string;
}

interface SeenClip {
  clip: [frames: number, fps: number, width: number, height: number];
  indices: number[];
  text: string;
  values: number;
  bytes: string;
}

const golden = readJson(`${FOLDER}/dense.json`) as {
  images: Record<string, SeenImage>;
  media_images: Record<string, SeenImage>;
  clips: Record<string, SeenClip>;
};

/** `vision` and `outer`: changes to config.json; `changes`: to the settings of images. */
function openModel(vision: Json = {}, changes: Json = {}, text: Json = {}): MediaModel {
  const config = readJson(`${FOLDER}/dense/config.json`) as Record<string, Json>;
  const settings = readJson(`${FOLDER}/dense/processor_config.json`) as Record<string, Json>;
  return GEMMA4.read({
    config: {
      ...config,
      vision_config: { ...config['vision_config'], ...vision },
      text_config: { ...config['text_config'], ...text },
    },
    processors: {
      'processor_config.json': {
        ...settings,
        image_processor: { ...settings['image_processor'], ...changes },
      },
    },
    hidden: HIDDEN,
  });
}

const byteOf = (value: number): number => (value / 2 + 0.5) * 255;
const tokensOf = ({ parts }: PreparedMedium): number =>
  parts.reduce<number>((sum, part) => sum + (typeof part === 'number' ? part : 1), 0);

function seenOf(prepared: PreparedMedium): SeenImage {
  const { data } = prepared.inputs['patches']!;
  const places = prepared.inputs['places']!.data;
  return {
    tokens: tokensOf(prepared),
    size: [places.at(-2)!, places.at(-1)! - 144],
    sha256: createHash('sha256')
      .update(Uint8Array.from(data, (value) => Math.round(byteOf(value))))
      .digest('hex'),
  };
}

it('odd images are seen as by transformers', async () => {
  const { alpha, prepare } = openModel().readers.image!;
  const path = fileURLToPath(new URL('../../golden/media-images.json', import.meta.url));
  const stored = readJson(path) as { name: string; file: string }[];
  const files = [
    ...Object.entries(golden.images).map(
      ([title, seen]) => [title, INTERNVL.images[title]!.file, seen] as const,
    ),
    ...stored.flatMap(({ name, file }) => {
      const seen = golden.media_images[name];
      return seen ? [[name, file, seen] as const] : [];
    }),
  ];
  expect(files.length).toBeGreaterThan(30);
  for (const [title, file, wanted] of files) {
    const bytes = new Uint8Array(Buffer.from(file, 'base64'));
    const image = await readImage(bytes, 'image', { bounds: { maxImagePixels: 1e6 }, alpha });
    expect(seenOf(finished(prepare(image, {}))), title).toEqual(wanted);
  }
});

it.each(Object.entries(golden.clips))('the clip %s is seen as by transformers', (_, wanted) => {
  const [frames, fps, width, height] = wanted.clip;
  const source = { width, height, frames, fps, duration: frames / fps };
  const { video } = openModel().readers;
  const indices = video!.frames(source);
  expect(indices).toEqual(wanted.indices);
  const shown = indices.map((t) => video!.fit!(frameOf(t, source), source, {}));
  const prepared = finished(video!.prepare({ source, indices, frames: shown }, {}));
  expect(
    prepared.parts
      .map((part) =>
        typeof part === 'string'
          ? part
          : typeof part === 'number'
            ? `{${part}}`
            : `{${part.token} ${part.rows}}`,
      )
      .join(''),
  ).toBe(wanted.text);
  const { data } = prepared.inputs['patches']!;
  expect(data.length).toBe(wanted.values);
  const bytes = Buffer.from(wanted.bytes, 'base64');
  const errors = Array.from(bytes, (byte, i) => Math.abs(byteOf(data[(i * STEP) % data.length]!) - byte));
  // torch rounds between the two directions of a resize, too.
  expect(Math.max(...errors)).toBeLessThan(1.01);
  expect(errors.reduce((sum, error) => sum + error, 0) / errors.length).toBeLessThan(0.05);
});

it('tokens of an image see each other where the language model says so', () => {
  expect(openModel().spans).toBe(70);
  expect(openModel({}, { max_soft_tokens: 280 }).spans).toBe(280);
  expect(openModel({}, {}, { use_bidirectional_attention: null }).spans).toBe(false);
});

it('a narrow image is a line of squares', () => {
  const { prepare } = openModel().readers.image!;
  const see = (width: number, height: number) =>
    finished(prepare({ width, height, data: new Uint8Array(3 * width * height) }, {})).parts;
  expect(see(1, 30)).toEqual(['<|image>', 45, '<image|>']);
  expect(see(1, 100)).toEqual(['<|image>', 70, '<image|>']);
  expect(see(500, 1)).toEqual(['<|image>', 70, '<image|>']);
});

it.each([
  ['another activation', { hidden_activation: 'relu' }, {}, 'unsupported'],
  ['another rotation', { rope_parameters: { rope_type: 'yarn' } }, {}, 'unsupported'],
  ['another filter', {}, { resample: 2 }, 'unsupported'],
  ['patches of another size', {}, { patch_size: 6 }, 'bad_checkpoint'],
  ['another number of rows', {}, { max_soft_tokens: 71 }, 'bad_checkpoint'],
])('a configuration of Gemma 4 is refused with %s', (_, vision, changes, code) => {
  expect(() => openModel(vision, changes)).toThrow(expect.objectContaining({ code }));
});

describe('tower', () => {
  let device: Device;
  beforeAll(async () => void (device = await openModelTestDevice()));
  afterAll(() => device.destroy());

  const cases: [string, string, { bindingLimit?: number }, boolean][] = [
    ['tuned', 'dense', {}, false],
    ['tuned', 'small', {}, false],
    ['plain', 'dense', {}, true],
    ['bindings of 256 KiB', 'dense', { bindingLimit: 256 << 10 }, false],
  ];

  it.each(cases)('%s %s', async (_, name, as, plain) => {
    const on = disguise(device, as);
    const values = await readValues(`${FOLDER}/${name}.safetensors`);
    const checkpoint = await openCheckpoint(await openDiskFolder(`${FOLDER}/${name}`), TEXT_CLASSES);
    const { model, tensors } = readMedia(checkpoint, { hidden: HIDDEN }, () => {})!;
    // Of 6 × 4 squares of 2 × 2 patches.
    const image = { width: 48, height: 32, data: new Uint8Array(3 * 48 * 32) };
    const { config, processors } = checkpoint.beside!;
    const tower = readGemma4Vision({ config, processors, hidden: HIDDEN });
    const { images } = readGemma4Images({ processors }, 'image', tower);
    const inputs = finished(gemma4Inputs(tower, images, [image]));
    const weights = openWeights(on, tensors, model.towers['vision']!, { format: null });
    await weights.load();
    await checkpoint.close();
    const found = await compute(
      on,
      (_tape, input) => {
        const given = Object.entries(inputs).map(([key, { shape, data }]) => [
          key,
          key === 'patches'
            ? input({
                shape: [1, 96, 48],
                values: values.get('pixels')!.values.map((value) => 2 * value - 1),
              })
            : input({ shape, values: Float32Array.from(data) }, data instanceof Uint32Array),
        ]);
        return [...weights.page(Object.fromEntries(given) as Record<string, Tensor>, null)];
      },
      { plain },
    );
    expectAgreement(found.values[0]!, values.get('rows')!);
  });
});
