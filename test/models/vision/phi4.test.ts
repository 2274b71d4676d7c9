// Images and sounds of Phi-4-multimodal against transformers: pixels, features, numbers of tokens, and the rows of its towers.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { readMedia } from '../../../src/engine/text/towers/text-media.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import { readSound } from '../../../src/files/media/read-sound.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';
import type { Json } from '../../../src/models/config-values.ts';
import type { MediaModel, PreparedMedium } from '../../../src/models/media.ts';
import { finished } from '../../../src/models/preparation.ts';
import { PHI4 } from '../../../src/models/vision/phi4/phi4-media.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues, type Values } from '../image-golden.ts';
import { GOLDEN as INTERNVL } from './internvl-golden.ts';
import { patchesOf } from './patches-of.ts';

const FOLDER = fileURLToPath(new URL('../../golden/phi4-media', import.meta.url));
const [HIDDEN, PATCH, MELS, FRAMES] = [48, 14, 80, 8 * 520 - 3];
const readJson = (path: string): unknown => JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8'));
const golden = readJson('small.json') as {
  sounds: { file: string }[];
  images: Record<string, number | null>;
};

let device: Device;
let values: Map<string, Values>;
beforeAll(async () => {
  device = await openModelTestDevice();
  values = await readValues(`${FOLDER}/outputs.safetensors`);
});
afterAll(() => device.destroy());

/** `config`: changes to config.json, whose parts they join; `changes`: to the settings of images; `heard`: to those of sounds. */
function openModel(config: Json = {}, changes: Json = {}, heard: Json = {}): MediaModel {
  const stated = readJson('small/config.json') as Record<string, Json>;
  const parts = Object.entries(config).map(([key, value]) => [key, { ...stated[key], ...(value as Json) }]);
  const settings = readJson('small/processor_config.json') as Record<string, Json>;
  return PHI4.read({
    config: { ...stated, ...Object.fromEntries(parts) },
    processors: {
      'processor_config.json': {
        image_processor: { ...settings['image_processor'], ...changes },
        feature_extractor: { ...settings['feature_extractor'], ...heard },
      },
    },
    hidden: HIDDEN,
  });
}

async function seen(name: string): Promise<PreparedMedium> {
  const { alpha, prepare } = openModel().readers.image!;
  const bytes = new Uint8Array(Buffer.from(INTERNVL.images[name]!.file, 'base64'));
  return finished(prepare(await readImage(bytes, 'image', { bounds: { maxImagePixels: 1e6 }, alpha }), {}));
}

async function heard(): Promise<PreparedMedium> {
  const { rate, prepare } = openModel().readers.audio!;
  const bytes = new Uint8Array(Buffer.from(golden.sounds[0]!.file, 'base64'));
  return finished(prepare(await readSound(bytes, 'sound', { bounds: { maxMediaSeconds: 60 }, rate }), {}));
}

it('odd images have as many tokens as in transformers', async () => {
  for (const [name, tokens] of Object.entries(golden.images))
    if (tokens === null) await expect(seen(name), name).rejects.toThrow(/narrow/);
    else expect((await seen(name)).parts, name).toEqual([tokens]);
});

it('the pixels of an image are those of transformers, whole and in crops', async () => {
  const { inputs } = await seen('exif-turned');
  const [pixels, mask] = [values.get('pixels')!, values.get('mask')!];
  const crops = pixels.shape[0]!;
  const of = ({ values: all }: Values, crop: number): Float32Array =>
    all.slice((crop * all.length) / crops, ((crop + 1) * all.length) / crops);
  const full = Array.from({ length: crops }, (_, crop) => crop).filter((crop) =>
    of(mask, crop).every(Boolean),
  );
  expect(full.length).toBeLessThan(crops);
  const wanted = full.flatMap((crop) => [
    ...patchesOf({ shape: [1, ...pixels.shape.slice(1)], values: of(pixels, crop) }, PATCH).values,
  ]);
  const { data } = inputs['patches']!;
  expectAgreement(Float32Array.from(data), { shape: [wanted.length], values: Float32Array.from(wanted) });
});

it('features of a sound are those of transformers', async () => {
  const { inputs, parts } = await heard();
  const wanted = values.get('features')!;
  expect(inputs['features']!.shape).toEqual([1, ...wanted.shape]);
  expectAgreement(Float32Array.from(inputs['features']!.data), wanted);
  expect(parts).toEqual([values.get('heard')!.shape[0]]);
});

it('sounds that are too short are refused', () => {
  const { prepare } = openModel().readers.audio!;
  expect(() => finished(prepare({ rate: 16_000, samples: new Float32Array(399) }, {}))).toThrow(/too short/);
});

/** A sound with these features in place of its own. */
async function long(): Promise<PreparedMedium> {
  const { prepare, rate } = openModel().readers.audio!;
  const silence = finished(prepare({ rate, samples: new Float32Array(160 * (FRAMES - 1) + 400) }, {}));
  const { values: waves } = values.get('waves')!;
  const data = Float32Array.from({ length: FRAMES * MELS }, (_, i) => waves[i % waves.length]!);
  return { ...silence, inputs: { ...silence.inputs, features: { shape: [1, FRAMES, MELS], data } } };
}

it.each([
  ['an image', 'seen', () => seen('exif-turned'), 0],
  ['a sound', 'heard', heard, 0],
  [
    'a sound beside images',
    'beside',
    async () => openModel().among!('audio', await heard(), new Set(['audio', 'image'])),
    0,
  ],
  ['a sound of two windows', 'long', long, 488],
] as const)('rows of %s are those of transformers', async (_, name, prepare, first) => {
  const { tower, inputs, layout } = await prepare();
  const checkpoint = await openCheckpoint(await openDiskFolder(`${FOLDER}/small`), TEXT_CLASSES);
  const { model, tensors } = readMedia(checkpoint, { hidden: HIDDEN }, () => {})!;
  const weights = openWeights(device, tensors, model.towers[tower]!, { format: null });
  await weights.load();
  await checkpoint.close();
  const found = await compute(device, (tape) => {
    const given = Object.entries(inputs).map(([key, { shape, data }]): [string, Tensor] => [
      key,
      device.tensor('step', key, [...shape], data).on(tape),
    ]);
    return [...weights.page(Object.fromEntries(given), layout)];
  });
  expectAgreement(found.values[0]!.slice(first * HIDDEN), values.get(name)!);
});

it.each([
  ['another filter', {}, { resample: 2 }, {}, 'unsupported'],
  ['crops of another size', {}, { size: { height: 28, width: 28 } }, {}, 'unsupported'],
  ['an odd number of patches', { vision_config: { image_size: 42 } }, {}, {}, 'unsupported'],
  ['a layer that it does not have', { vision_config: { feature_layer: 9 } }, {}, {}, 'bad_checkpoint'],
  ['chunks of rows', { audio_config: { chunk_size: 18 } }, {}, {}, 'unsupported'],
  ['other frames', {}, {}, { win_length: 320 }, 'unsupported'],
  ['features of another size', {}, {}, { feature_size: 64 }, 'unsupported'],
] as const)('a configuration is refused with %s', (_, config, changes, sounds, code) => {
  expect(() => openModel(config, changes, sounds)).toThrow(expect.objectContaining({ code }));
});
