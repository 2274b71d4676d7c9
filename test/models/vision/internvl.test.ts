// What InternVL's processors make of images and videos, against transformers.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readImage } from '../../../src/files/media/read-image.ts';
import type { Pixels } from '../../../src/files/image/pixels.ts';
import { mediaFamily } from '../../../src/models/towers/media-families.ts';
import type { MediaModel, PreparedMedium } from '../../../src/models/media.ts';
import { internTower } from '../../../src/models/vision/internvl/intern-vit.ts';
import { readInternVl } from '../../../src/models/vision/internvl/internvl-config.ts';
import { tensorsOf } from '../../../src/models/weight-requests.ts';
import { WeightTable } from '../../../src/models/weights.ts';
import { finished } from '../../../src/models/preparation.ts';
import { clipOf, GOLDEN, mediaFiles, readTensors } from './internvl-golden.ts';

const [SIDE, PATCH, ROWS] = [24, 6, 4];
const [MEANS, SPREADS] = [
  [0.485, 0.456, 0.406],
  [0.229, 0.224, 0.225],
] as const;

function open(checkpoint: string, changes = {}, video = {}): MediaModel {
  const files = mediaFiles(checkpoint, changes, video);
  return mediaFamily((files.config['architectures'] as string[])[0]!)!.read(files);
}

/** Bytes [tiles, 3, side, side] of which the prepared values were made. */
function bytesOf({ inputs }: PreparedMedium): Uint8Array {
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
          const value = (data[from++]! * SPREADS[channel]! + MEANS[channel]!) * 255;
          made[((tile * 3 + channel) * SIDE + y) * SIDE + x] = Math.round(value);
        }
  return made;
}

const tilesIn = ({ inputs }: PreparedMedium): number => inputs['patches']!.shape[0]!;

const grey = (width: number, height: number): Pixels => ({
  width,
  height,
  data: new Uint8Array(3 * width * height).fill(9),
});

it.each(['qwen2', 'qwen2-original'])(
  'the InternVL class %s cuts odd images into the tiles of transformers',
  async (checkpoint) => {
    const { image } = open(checkpoint).readers;
    const tensors = await readTensors('images.safetensors');
    for (const [name, { file, limits, tiles }] of Object.entries(GOLDEN.images)) {
      const { min_patches: minTiles, max_patches: maxTiles } = limits;
      const bytes = new Uint8Array(Buffer.from(file, 'base64'));
      const pixels = await readImage(bytes, 'image', {
        bounds: { maxImagePixels: 1e6 },
        alpha: image!.alpha,
      });
      const given = {
        ...(minTiles !== undefined && { minTiles }),
        ...(maxTiles !== undefined && { maxTiles }),
      };
      const prepared = finished(image!.prepare(pixels, given));
      expect(tilesIn(prepared), name).toBe(tiles);
      expect(prepared.parts, name).toEqual(['<img>', tiles * ROWS, '</img>']);
      expect(Buffer.compare(bytesOf(prepared), tensors.get(name)!.bytes), name).toBe(0);
    }
  },
);

it('the images of all formats become the tiles of transformers', () => {
  const { image } = open('qwen2').readers;
  const path = new URL('../../golden/media-images.json', import.meta.url);
  const cases = JSON.parse(readFileSync(path, 'utf8')) as {
    name: string;
    size: [number, number];
    rgb: string;
  }[];
  for (const { name, size, rgb } of cases) {
    if (rgb === undefined) continue;
    const data = new Uint8Array(inflateSync(Buffer.from(rgb, 'base64')));
    const prepared = finished(image!.prepare({ width: size[0], height: size[1], data }, {}));
    const digest = createHash('sha256').update(bytesOf(prepared)).digest('hex');
    expect({ tiles: tilesIn(prepared), sha256: digest }, name).toEqual(GOLDEN.media_images[name]);
  }
});

it('values are normalized as transformers does', async () => {
  const { image } = open('qwen2').readers;
  const pixels = await readImage(
    new Uint8Array(Buffer.from(GOLDEN.images['nearly-square']!.file, 'base64')),
    'image',
    {
      bounds: { maxImagePixels: 1e6 },
    },
  );
  const { data } = finished(image!.prepare(pixels, {})).inputs['patches']!;
  const wanted = new Float32Array(
    (await readTensors('images.safetensors')).get('nearly-square.values')!.bytes.buffer,
  );
  for (let x = 0; x < PATCH; x++) expect(data[x]).toBeCloseTo(wanted[x]!, 5);
});

it('the rows of many tiles are known before any of them is made', () => {
  const { image } = open('qwen2-original').readers;
  const work = image!.prepare(grey(50, 50), { minTiles: 120, maxTiles: 128 });
  expect(work.next()).toEqual({ done: false, value: 122 * ROWS });
});

it('the limits of the request come before those of the model', () => {
  const tiles = (checkpoint: string, limits: object, changes = {}): number =>
    tilesIn(finished(open(checkpoint, changes).readers.image!.prepare(grey(50, 50), limits)));
  expect(tiles('qwen2-original', {})).toBe(5);
  expect(tiles('qwen2-original', {}, { max_dynamic_patch: 3 })).toBe(1);
  expect(tiles('qwen2-original', { maxTiles: 9 }, { max_dynamic_patch: 3 })).toBe(5);
  expect(tiles('qwen2-original', {}, { min_dynamic_patch: 9 })).toBe(10);
  expect(tiles('qwen2-original', { maxTiles: 1 }, { min_dynamic_patch: 9 })).toBe(1);
  expect(tiles('qwen2-original', { minTiles: 16 })).toBe(17);
  expect(tiles('qwen2-original', {}, { use_thumbnail: false })).toBe(4);
  expect(tiles('qwen2-original', {}, { dynamic_image_size: false })).toBe(1);
  expect(() => tiles('qwen2', { minTiles: 3, maxTiles: 2 })).toThrow(
    'minTiles is 3, and `maxTiles` 2: give a minimum that is not above the maximum',
  );
});

it('frames of videos are chosen as transformers and the original program do', () => {
  const chosen = (checkpoint: string, frames: number, fps = 30, settings = {}): number[] =>
    open(checkpoint, {}, settings).readers.video!.frames({
      width: 8,
      height: 8,
      frames,
      fps,
      duration: frames / fps,
    });
  for (const { frames, fps, settings, indices } of GOLDEN.frames)
    expect(chosen('qwen2', frames, fps, settings), `${frames} frames`).toEqual(indices);
  expect(chosen('qwen2', 3)).toEqual([0, 1, 2]);
  expect(chosen('qwen2', 3, 30, { fps: 2 })).toEqual([1]);
  expect(chosen('qwen2-original', 1)).toEqual([0]);
  // int(31.1875 / 2 + round(31.1875 · i)) for 999 frames
  expect(chosen('qwen2-original', 999).slice(0, 4)).toEqual([15, 46, 77, 109]);
});

it.each(['qwen2', 'qwen2-original'])('each frame has its text and one tile in %s', async (checkpoint) => {
  const { video } = open(checkpoint).readers;
  const clip = await clipOf('video');
  const prepared = finished(video!.prepare(clip, {}));
  const [first, second, third] = ['Frame1: <img>', '</img>\nFrame2: <img>', '</img>\nFrame3: <img>'];
  expect(prepared.parts).toEqual([first, ROWS, second, ROWS, third, ROWS, '</img>']);
  // torchvision resizes frames in fixed point of another precision than Pillow.
  const wanted = (await readTensors('images.safetensors')).get('video.tiles')!.bytes;
  const differences = bytesOf(prepared).map((byte, i) => Math.abs(byte - wanted[i]!));
  expect(Math.max(...differences)).toBeLessThanOrEqual(2);
  expect(differences.reduce((sum, one) => sum + one, 0) / differences.length).toBeLessThan(0.255);
  expect(tilesIn(finished(video!.prepare(clip, { maxTiles: 6 })))).toBe(3 * 7);
  for (const limits of [{}, { maxTiles: 6 }]) {
    const frames = clip.frames.map((frame) => video!.fit!(frame, clip.source, limits));
    const fitted = finished(video!.prepare({ ...clip, frames, isFitted: true }, limits));
    expect(fitted).toEqual(finished(video!.prepare(clip, limits)));
  }
});

/** Numbers of configurations as they are published, without what nothing reads. */
const VIT_300M = {
  hidden_act: 'gelu',
  hidden_size: 1024,
  image_size: 448,
  intermediate_size: 4096,
  layer_norm_eps: 1e-6,
  norm_type: 'layer_norm',
  num_attention_heads: 16,
  num_channels: 3,
  num_hidden_layers: 24,
  patch_size: 14,
  qk_normalization: false,
  qkv_bias: true,
};
const VIT_6B = {
  ...VIT_300M,
  hidden_size: 3200,
  intermediate_size: 12800,
  norm_type: 'rms_norm',
  num_attention_heads: 25,
  num_hidden_layers: 45,
  qk_normalization: true,
  qkv_bias: false,
};

it.each([
  ['300M', VIT_300M, 10 + 24 * 14, 'vision_model.encoder.layers.23.attn.qkv.bias', [3072]],
  ['6B', VIT_6B, 10 + 45 * 13, 'vision_model.encoder.layers.44.attn.q_norm.weight', [3200]],
] as const)('the published tower of %s reads its tensors', (_, vision_config, tensors, name, shape) => {
  const config = {
    llm_config: { model_type: 'qwen2' },
    vision_config,
    downsample_ratio: 0.5,
    dynamic_image_size: true,
    force_image_size: 448,
    use_thumbnail: true,
    max_dynamic_patch: 12,
    min_dynamic_patch: 1,
    pad2square: false,
    ps_version: 'v2',
    select_layer: -1,
  };
  const read = readInternVl({ config, processors: {}, hidden: 896 });
  expect(read).toMatchObject({
    rows: 256,
    whole: true,
    bounds: { min: 1, max: 12 },
    tiles: { side: 448, patch: 14 },
  });
  const table = new WeightTable(new Set<string>());
  internTower(read.tower, table);
  const found = new Map(table.requests.flatMap(tensorsOf).map((one) => [one.name, one.shape]));
  expect(found.size).toBe(tensors);
  expect(found.get(name)).toEqual(shape);
  expect(found.get('vision_model.embeddings.position_embedding')).toEqual([1025, vision_config.hidden_size]);
  expect(found.get('mlp1.1.weight')).toEqual([896, 4 * vision_config.hidden_size]);
});

it('settings of InternVL that are not built are refused by their keys', () => {
  const refusals: [string, object, string][] = [
    [
      'qwen2-original',
      { ps_version: null },
      'config.json: ps_version "v1" is not built; choose a checkpoint that has "v2"',
    ],
    [
      'qwen2-original',
      { pad2square: true },
      'config.json: pad2square true is not built; choose a checkpoint that has false',
    ],
    [
      'qwen2-original',
      { force_image_size: 30 },
      'config.json: downsample_ratio is 0.5, which does not divide tiles of 30 pixels in patches of 6',
    ],
    [
      'qwen2-original',
      { select_layer: -4 },
      "config.json: select_layer is -4, one layer of the tower's 2 is needed",
    ],
    [
      'qwen2',
      { vision_feature_layer: [-2, -1] },
      "config.json: vision_feature_layer is [-2,-1], one layer of the tower's 2 is needed",
    ],
    [
      'qwen2',
      { vision_config: { norm_type: 'batch_norm' } },
      'config.json: vision_config: norm_type "batch_norm" is not built; choose a checkpoint that has "layer_norm" or "rms_norm"',
    ],
  ];
  expect(() => open('qwen2', {}, { size: { height: 36, width: 36 } })).toThrow(
    'processor_config.json: video_processor: size is 36, and only frames in the size of tiles, 24, are built',
  );
  for (const [checkpoint, changes, message] of refusals)
    expect(() => open(checkpoint, changes), message).toThrow(message);
});
