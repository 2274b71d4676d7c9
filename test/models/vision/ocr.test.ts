// Models that read pages against transformers: odd images as their processors make them, and their towers.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { readMedia } from '../../../src/engine/text/towers/text-media.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';
import { isJsonObject, type Json } from '../../../src/models/config-values.ts';
import { mediaFamily, mediaHalf } from '../../../src/models/towers/media-families.ts';
import type { MediaFiles, MediaModel, PreparedMedium, TileLimits } from '../../../src/models/media.ts';
import { finished } from '../../../src/models/preparation.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues } from '../image-golden.ts';
import { GOLDEN as INTERNVL } from './internvl-golden.ts';

const ROOT = fileURLToPath(new URL('../../golden', import.meta.url));
const FOLDER = `${ROOT}/ocr`;
const HIDDEN = 48;
const CLIP = {
  means: [0.48145466, 0.4578275, 0.40821073],
  spreads: [0.26862954, 0.26130258, 0.27577711],
};
const HALVES = { means: [0.5, 0.5, 0.5], spreads: [0.5, 0.5, 0.5] };
/** What the values of patches are normalized by, and whether their columns are pixel by pixel, in place of channel by channel. */
const COLOURS = {
  'deepseek-ocr': { ...HALVES, isByPixels: false },
  'glm-4v-moe': { ...CLIP, isByPixels: false },
  'glm-ocr': { ...CLIP, isByPixels: false },
  'lfm2-vl': { ...HALVES, isByPixels: true },
  'lighton-ocr': { ...CLIP, isByPixels: false },
  'paddleocr-vl': { ...CLIP, isByPixels: false },
};
type Name = keyof typeof COLOURS;
const NAMES = Object.keys(COLOURS) as Name[];

interface SeenImage {
  tokens: number;
  /** Of the bytes of the patches, as the tower reads them. */
  sha256: string;
}

interface Golden {
  /** Width and height of the image that the noise stands for. */
  image: [number, number];
  images: Record<string, SeenImage | null>;
  media_images: Record<string, SeenImage | null>;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const goldenOf = (name: Name): Golden => readJson(`${FOLDER}/${name}.json`) as Golden;

/** `config`: changes to config.json, whose parts they join; `changes`: to the settings of images; `texts`: to those of texts. */
function openModel(name: Name, config: Json = {}, changes: Json = {}, texts: Json = {}): MediaModel {
  const stated = readJson(`${FOLDER}/${name}/config.json`) as Json;
  const settings = readJson(`${FOLDER}/${name}/processor_config.json`) as Record<string, Json>;
  const parts = Object.entries(config).map(([key, value]) => [
    key,
    isJsonObject(value) ? { ...(stated[key] as Json), ...value } : value,
  ]);
  const files: MediaFiles = {
    config: { ...stated, ...Object.fromEntries(parts) },
    processors: {
      'processor_config.json': {
        ...settings,
        ...texts,
        image_processor: { ...settings['image_processor'], ...changes },
      },
    },
    hidden: HIDDEN,
  };
  return mediaFamily((stated['architectures'] as string[])[0]!)!.read(files);
}

/** The bytes that the prepared values were made of. */
function seenOf(name: Name, { inputs, parts }: PreparedMedium): SeenImage {
  const keys = name === 'deepseek-ocr' ? ['whole', 'tiles'] : ['patches'];
  const shown = keys.flatMap((key) => inputs[key] ?? []);
  const columns = shown[0]!.shape.at(-1)!;
  const { means, spreads, isByPixels } = COLOURS[name];
  const made = shown.map(({ data }) => {
    // A loop: the callback of Uint8Array.from takes ten times as long.
    const bytes = new Uint8Array(data.length);
    for (let i = 0; i < bytes.length; i++) {
      const channel = isByPixels ? i % 3 : Math.floor((i % columns) / (columns / 3));
      bytes[i] = Math.round((data[i]! * spreads[channel]! + means[channel]!) * 255);
    }
    return bytes;
  });
  return {
    tokens: parts.reduce<number>(
      (sum, part) =>
        sum + (typeof part === 'string' ? textTokens(part) : typeof part === 'number' ? part : part.rows),
      0,
    ),
    sha256: createHash('sha256').update(Buffer.concat(made)).digest('hex'),
  };
}

/** Special tokens of a text, which has others only between them. */
const textTokens = (text: string): number => text.match(/<[^<>]+>|\n/g)?.length ?? 0;

it.each(NAMES)('odd images are seen by the processor of %s as by transformers', async (name) => {
  const golden = goldenOf(name);
  const { alpha, prepare } = openModel(name).readers.image!;
  const stored = readJson(`${ROOT}/media-images.json`) as { name: string; file: string }[];
  const files = [
    ...Object.entries(golden.images).map(
      ([title, seen]) => [title, INTERNVL.images[title]!.file, seen] as const,
    ),
    ...stored.flatMap(({ name: title, file }) => {
      const seen = golden.media_images[title];
      return seen === undefined ? [] : [[title, file, seen] as const];
    }),
  ];
  const seen = files.filter(([, , wanted]) => wanted !== null);
  expect(seen.length).toBeGreaterThan(20);
  for (const [title, file, wanted] of seen) {
    const bytes = new Uint8Array(Buffer.from(file, 'base64'));
    const image = await readImage(bytes, 'image', { bounds: { maxImagePixels: 1e6 }, alpha });
    expect(seenOf(name, finished(prepare(image, {}))), title).toEqual(wanted);
  }
});

it.each([
  [
    'deepseek-ocr',
    'another projector',
    { projector_config: { projector_type: 'mlp_gelu' } },
    {},
    {},
    'unsupported',
  ],
  [
    'deepseek-ocr',
    'several sizes of the whole image',
    {},
    {},
    {
      candidate_resolutions: [
        [240, 240],
        [480, 240],
      ],
    },
    'unsupported',
  ],
  ['deepseek-ocr', 'tiles of half patches', {}, {}, { tile_size: 40 }, 'unsupported'],
  [
    'deepseek-ocr',
    'a whole image of half patches',
    {},
    {},
    { candidate_resolutions: [[248, 248]] },
    'unsupported',
  ],
  [
    'deepseek-ocr',
    'another number of channels between its towers',
    { vision_config: { width: { sam_vit_b: { downsample_channels: [40, 44] } } } },
    {},
    {},
    'bad_checkpoint',
  ],
  ['glm-ocr', 'another activation', { vision_config: { hidden_act: 'gelu' } }, {}, {}, 'unsupported'],
  [
    'glm-ocr',
    'another rotation',
    { vision_config: { rope_parameters: { rope_theta: 100 } } },
    {},
    {},
    'unsupported',
  ],
  ['lfm2-vl', 'another filter', {}, { resample: 3 }, {}, 'unsupported'],
  ['lfm2-vl', 'states of another layer', { vision_feature_layer: -2 }, {}, {}, 'unsupported'],
  ['lfm2-vl', 'patches of another size', {}, { encoder_patch_size: 6 }, {}, 'bad_checkpoint'],
  ['lfm2-vl', 'tiles of half cells', {}, { tile_size: 20 }, {}, 'unsupported'],
  ['lfm2-vl', 'a tile at least', {}, { min_tiles: 1 }, {}, 'unsupported'],
  [
    'lfm2-vl',
    'images without tokens around them',
    {},
    {},
    { use_image_special_tokens: false },
    'unsupported',
  ],
  ['lighton-ocr', 'another filter', {}, { resample: 1 }, {}, 'unsupported'],
  ['lighton-ocr', 'sides that are no multiples of a patch', {}, { patch_size: 6 }, {}, 'bad_checkpoint'],
  [
    'lighton-ocr',
    'another tower',
    { vision_config: { model_type: 'clip_vision_model' } },
    {},
    {},
    'unsupported',
  ],
] as const)('a configuration of %s is refused with %s', (name, _, config, changes, texts, code) => {
  expect(() => openModel(name, config, changes, texts)).toThrow(expect.objectContaining({ code }));
});

it('a request may bound the tiles of an image', () => {
  const image = { width: 100, height: 160, data: new Uint8Array(3 * 100 * 160) };
  const { prepare } = openModel('lfm2-vl').readers.image!;
  const tiles = (limits: TileLimits): unknown => finished(prepare(image, limits)).layout;
  const whole = { tiles: 1, rows: 4, columns: 2 };
  expect(tiles({})).toEqual([{ tiles: 2, rows: 6, columns: 6 }, whole]);
  expect(tiles({ minTiles: 3, maxTiles: 6 })).toEqual([{ tiles: 6, rows: 6, columns: 6 }, whole]);
  expect(tiles({ maxTiles: 1 })).toEqual([whole]);
});

it('a request may leave the tiles of DeepSeek-OCR out', () => {
  const image = { width: 100, height: 60, data: new Uint8Array(3 * 100 * 60) };
  const { prepare } = openModel('deepseek-ocr').readers.image!;
  const shown = (limits: TileLimits): PreparedMedium => finished(prepare(image, limits));
  expect(shown({}).inputs['tiles']?.shape[0]).toBe(6);
  expect(shown({ maxTiles: 2 }).inputs['tiles']?.shape[0]).toBe(2);
  const whole = shown({ maxTiles: 1 });
  expect(whole.parts).toEqual([4 * 5 + 1]);
  expect(whole.inputs['tiles']).toBeUndefined();
});

it('the language model of LFM2-VL may have experts', () => {
  const config = { model_type: 'lfm2_vl', text_config: { model_type: 'lfm2_moe' } };
  const half = mediaHalf(config, 'Lfm2VlForConditionalGeneration');
  expect(half?.architecture).toBe('Lfm2MoeForCausalLM');
});

describe('towers', () => {
  let device: Device;
  beforeAll(async () => void (device = await openModelTestDevice()));
  afterAll(() => device.destroy());

  it.each(NAMES)('%s', async (name) => {
    const values = await readValues(`${FOLDER}/${name}.safetensors`);
    const [width, height] = goldenOf(name).image;
    const checkpoint = await openCheckpoint(await openDiskFolder(`${FOLDER}/${name}`), TEXT_CLASSES);
    const { model, tensors } = readMedia(checkpoint, { hidden: HIDDEN }, () => {})!;
    const image = { width, height, data: new Uint8Array(3 * width * height) };
    const { inputs, layout, tower } = finished(model.readers.image!.prepare(image, {}));
    const weights = openWeights(device, tensors, model.towers[tower]!, { format: null });
    await weights.load();
    await checkpoint.close();
    const found = await compute(device, (_tape, input) => {
      const given = Object.entries(inputs).map(([key, { shape, data }]) => {
        // The noise stands for the image's values.
        const shown = values.get(key)?.values ?? Float32Array.from(data);
        return [key, input({ shape, values: shown }, data instanceof Uint32Array)];
      });
      return [...weights.page(Object.fromEntries(given) as Record<string, Tensor>, layout)];
    });
    expectAgreement(found.values[0]!, values.get('rows')!);
  });
});
