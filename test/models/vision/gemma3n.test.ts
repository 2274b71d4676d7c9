// Gemma 3n's images against transformers and timm: odd images in the size of the encoder, and MobileNet with the token that ends an image.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { readMedia } from '../../../src/engine/text/towers/text-media.ts';
import { collect } from '../../../src/engine/weights/collect.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import type { GgufTensor } from '../../../src/files/gguf/gguf.ts';
import { GgufKeys } from '../../../src/files/gguf/keys.ts';
import type { TowerFile } from '../../../src/files/gguf/tower.ts';
import { readImage } from '../../../src/files/media/read-image.ts';
import type { Tensor } from '../../../src/gpu/tensor.ts';
import { readConfig, type Json } from '../../../src/models/config-values.ts';
import type { MediaModel, PreparedMedium } from '../../../src/models/media.ts';
import { finished } from '../../../src/models/preparation.ts';
import { GEMMA3N } from '../../../src/models/vision/gemma3n/gemma3n-media.ts';
import { GEMMA3N_VISION_GGUF } from '../../../src/models/vision/gemma3n/gemma3n-vision-gguf.ts';
import { mobileNetV5 } from '../../../src/models/vision/gemma3n/mobilenet-v5.ts';
import { readMobileNetV5 } from '../../../src/models/vision/gemma3n/mobilenet-v5-config.ts';
import { tensorsOf } from '../../../src/models/weights.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues } from '../image-golden.ts';
import { GOLDEN as INTERNVL } from './internvl-golden.ts';

const FOLDER = fileURLToPath(new URL('../../golden/gemma3n-media', import.meta.url));
const [HIDDEN, ROWS] = [64, 16];
const readJson = (path: string): unknown => JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8'));

/** Digests of bytes by the names of images; null: the processor refuses the image. */
const { images } = readJson('small.json') as { images: Record<string, string | null> };
const stated = readJson('small/config.json') as Record<string, Json>;

/** `vision` and `changes`: changes to the settings of the encoder and of images. */
function openModel(vision: Json = {}, changes: Json = {}): MediaModel {
  const settings = readJson('small/preprocessor_config.json') as Json;
  return GEMMA3N.read({
    config: { ...stated, vision_config: { ...stated['vision_config'], ...vision } },
    processors: { 'preprocessor_config.json': { ...settings, ...changes } },
    hidden: HIDDEN,
  });
}

async function prepared(name: string): Promise<PreparedMedium> {
  const { alpha, prepare } = openModel().readers.image!;
  const bytes = new Uint8Array(Buffer.from(INTERNVL.images[name]!.file, 'base64'));
  const image = await readImage(bytes, 'image', { bounds: { maxImagePixels: 1e6 }, alpha });
  return finished(prepare(image, {}));
}

it('odd images are seen as by the processor of transformers', async () => {
  const seen = Object.entries(images).filter(([, wanted]) => wanted !== null);
  expect(seen.length).toBeGreaterThan(10);
  for (const [name, wanted] of seen) {
    const { inputs, parts } = await prepared(name);
    const bytes = Uint8Array.from(inputs['pixels']!.data, (value) => Math.round(value * 255));
    expect(createHash('sha256').update(bytes).digest('hex'), name).toBe(wanted);
    expect(parts).toEqual(['\n\n<start_of_image>', ROWS, { token: '<end_of_image>', rows: 1 }, '\n\n']);
  }
});

it('the published encoder has 84 blocks, as timm builds it', () => {
  const { stages } = readMobileNetV5(readConfig('config.json', { architecture: 'mobilenetv5_300m_enc' }));
  const kinds = (kind: string): number[] =>
    stages.map((stage) => stage.filter((block) => block.kind === kind).length);
  expect(kinds('edge')).toEqual([3, 0, 0, 0]);
  expect(kinds('inverted')).toEqual([0, 5, 23, 20]);
  expect(kinds('attention')).toEqual([0, 0, 14, 19]);
  expect(stages.map((stage) => stage.at(-1)!.columns)).toEqual([128, 256, 640, 1280]);
});

/** A GGUF file of the published towers, as far as its shapes and metadata are read. */
function publishedGguf(): TowerFile {
  const encoder = readMobileNetV5(readConfig('config.json', {}));
  const { requests } = collect(new Map(), (weights) => mobileNetV5(encoder, weights, 'v.'));
  const shapes: [string, readonly number[]][] = [
    ...requests
      .flatMap(tensorsOf)
      .map(({ name, shape }): [string, readonly number[]] => [name.replace('v.blocks.', 'v.blk.'), shape]),
    ['mm.embedding.weight', [128, 2048]],
    ['mm.a.embedding.weight', [128, 1536]],
  ];
  const metadata = new Map(
    Object.entries({
      'clip.vision.image_size': 768,
      'clip.vision.patch_size': 3,
      'clip.vision.embedding_length': 2048,
      'clip.audio.embedding_length': 1536,
      'clip.audio.block_count': 12,
      'clip.audio.attention.head_count': 8,
      'clip.audio.num_mel_bins': 128,
    }),
  );
  const keys = new GgufKeys({ name: 'mmproj.gguf', metadata });
  const language = { metadata: 'gemma3n', config: { vocab_size: 262_400 }, keys };
  const tensors = new Map(shapes.map(([name, shape]) => [name, { name, shape } as unknown as GgufTensor]));
  return { keys, tensors, language };
}

it('the shapes of tensors in GGUF files tell the published encoder', () => {
  const { config } = GEMMA3N_VISION_GGUF.read(publishedGguf());
  const vision = readConfig('config.json', config['vision_config'] as Json);
  expect(readMobileNetV5(vision)).toEqual(readMobileNetV5(readConfig('config.json', {})));
  expect(config).toMatchObject({
    vision_soft_tokens_per_image: 256,
    ...{ eoi_token_id: 262_144, eoa_token_id: 262_272 },
  });
});

const [stage] = (stated['vision_config']!['model_args'] as { block_args: Json[][] }).block_args;

it.each([
  ['another encoder', { architecture: 'mobilenetv5_base' }, {}, 'unsupported'],
  ['arguments that are not built', { model_args: { aa_layer: 'blur' } }, {}, 'unsupported'],
  [
    'blocks that choose channels',
    { model_args: { block_args: [stage, [{ ...stage![0], se_ratio: 0.25 }]] } },
    {},
    'unsupported',
  ],
  [
    'blocks of other settings',
    { model_args: { block_args: [stage, [{ ...stage![0], dilation: 2 }]] } },
    {},
    'unsupported',
  ],
  ['stages of one size', { model_args: { block_args: [stage, [stage![1]]] } }, {}, 'unsupported'],
  ['a table without the end of an image', { vocab_offset: 9999 }, {}, 'bad_checkpoint'],
  ['other rows', { model_args: { msfa_output_resolution: 2 } }, {}, 'bad_checkpoint'],
  ['another filter', {}, { resample: 1 }, 'unsupported'],
  ['images of half pixels', {}, { size: { height: 40, width: 40 } }, 'unsupported'],
] as const)('a configuration of images is refused with %s', (_, vision, changes, code) => {
  expect(() => openModel(vision, changes)).toThrow(expect.objectContaining({ code }));
});

it.each([
  ['', {}],
  [' in bindings of 256 KiB', { bindingLimit: 256 << 10 }],
])('rows of an image are those of transformers%s', async (_, as) => {
  const device = await openModelTestDevice();
  const on = disguise(device, as);
  const checkpoint = await openCheckpoint(await openDiskFolder(`${FOLDER}/small`), TEXT_CLASSES);
  const { model, tensors } = readMedia(checkpoint, { hidden: HIDDEN }, () => {})!;
  const { tower, inputs, layout } = await prepared('exif-turned');
  const weights = openWeights(on, tensors, model.towers[tower]!, { format: null });
  await weights.load();
  await checkpoint.close();
  const found = await compute(on, (_tape, input) => {
    const given = Object.entries(inputs).map(([name, { shape, data }]) => [
      name,
      input({ shape, values: Float32Array.from(data) }, data instanceof Uint32Array),
    ]);
    return [...weights.page(Object.fromEntries(given) as Record<string, Tensor>, layout)];
  });
  expectAgreement(found.values[0]!, (await readValues(`${FOLDER}/small.safetensors`)).get('seen')!);
  device.destroy();
});
