// SVDQuant of plain weights in a pipeline: nearer to them than int4, made once, and in agreement with what options state.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ImageModelOptions } from '../../../src/engine/image/calls/image-model.ts';
import { ownPackedCache, type OwnPackedCache } from '../own-packed-cache.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { openInline } from '../../../src/host/open.ts';
import { imagesOf, listen } from './pipeline-golden.ts';
import { scratch } from './tiny-pipelines.ts';
import { writeTensors, type StoredTensor } from './tiny-tensors.ts';
import { tinyFlux } from './tiny-transformers.ts';

const PATIENCE = 300_000;
const { folder } = tinyFlux({ name: 'svdquant' });
let packed: OwnPackedCache;
let plain: Uint8Array;
/** What the model that drew last says of itself. */
let svdquant: string | undefined;

beforeAll(async () => {
  packed = ownPackedCache();
  plain = await drawn();
}, PATIENCE);

const REQUEST = { prompt: 'a house', maxSequenceLength: 12, seed: 3, width: 32, height: 16, steps: 1 };

async function drawn(options: Partial<ImageModelOptions> = {}): Promise<Uint8Array> {
  const platform = { ...nodePlatform, packed };
  await using model = await openInline(IMAGE, platform, { model: folder, ...options });
  svdquant = model.info.svdquant;
  return imagesOf(await listen(model, REQUEST))[0]!.data;
}

const distance = (pixels: Uint8Array): number =>
  pixels.reduce((sum, value, i) => sum + (value - plain[i]!) ** 2, 0) / plain.length;

it(
  'weights with a low-rank part draw nearer to plain ones than int4 does, and are quantized once',
  async () => {
    const options = { enableSvdquant: true, quantizerConfig: { rank: 24, group_size: 32 } };
    const first = await drawn(options);
    const kept = packed.files().filter((name) => name.includes('svdq-int4_r24_g32'));
    expect(kept).toHaveLength(1);
    expect(svdquant).toBe('svdq-int4_r24_g32_s0');
    expect(await drawn(options)).toEqual(first);
    expect(distance(first)).toBeLessThan(distance(await drawn({ quantization: 'int4' })));
  },
  PATIENCE,
);

it(
  'LoRAs stand beside the low-rank part, and layers may be streamed',
  async () => {
    const options = { enableSvdquant: true, quantizerConfig: { rank: 24, group_size: 32 } };
    const [k, rows] = [64, 64];
    const factors = ['lora_A.weight', 'lora_B.weight'].map((end, i): StoredTensor => {
      const values = Float32Array.from({ length: 4 * k }, (_, at) => (i === 0 ? 0.3 : 1) * Math.sin(at * at));
      const shape = i === 0 ? [4, k] : [rows, 4];
      const name = `transformer.single_transformer_blocks.0.attn.to_v.${end}`;
      return { name, dtype: 'F32', shape, bytes: new Uint8Array(values.buffer) };
    });
    const loraPath = [writeTensors(join(scratch, 'beside-svdquant.safetensors'), factors)];
    const adapted = await drawn({ ...options, loraPath });
    const merged = await drawn({ loraPath });
    const far = (a: Uint8Array, b: Uint8Array): number =>
      a.reduce((sum, value, i) => sum + Math.abs(value - b[i]!), 0);
    expect(far(adapted, merged)).toBeLessThan(0.5 * far(plain, merged));
    expect(await drawn({ ...options, loraPath, ditLayerwiseOffload: true })).toEqual(adapted);
  },
  PATIENCE,
);

describe('settings that do not fit are refused:', () => {
  it.each<[string, Partial<ImageModelOptions>, RegExp]>([
    [
      'a rank of half the sides',
      { enableSvdquant: true, quantizationRank: 64 },
      /finds no matrix of the transformer .* twice the rank 64/,
    ],
    [
      'nothing to quantize',
      { quantizerConfig: { rank: 16 } },
      /holds none of its weights: add `enableSvdquant`/,
    ],
  ])('%s', async (_, options, message) => {
    await expect(drawn(options)).rejects.toThrow(message);
  });
});
