// Plain weights with a low-rank part: what stands for a matrix is nearer to it than int4 of the same groups, and a page
// reads both kinds of codes.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../../src/engine/weights/weights.ts';
import { collect } from '../../../../src/engine/weights/collect.ts';
import { QuantizedTensors } from '../../../../src/engine/weights/svdquant/quantized-tensors.ts';
import type { SvdquantSettings } from '../../../../src/engine/weights/svdquant/settings.ts';
import { targetsOf } from '../../../../src/engine/weights/svdquant/targets.ts';
import type { TensorEntry } from '../../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { FORMATS } from '../../../../src/kernels/formats.ts';
import { linear } from '../../../../src/kernels/matmul.ts';
import type { WeightTable } from '../../../../src/models/weights.ts';
import { memorySource } from '../../../files/memory-source.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { compute, Random } from '../../../kernels/compute.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const K = 128;
const ROWS = { q: 96, k: 64 };
const NAMES = ['q', 'k'].map((part) => `blocks.0.${part}.weight`);
const SETTINGS: SvdquantSettings = { precision: 'int4', rank: 8, groupKs: 64, smoothing: 0 };

/** Random weights of which three columns are outliers. */
function weights(): Map<string, TensorEntry> {
  const random = new Random(8);
  return new Map(
    Object.values(ROWS).map((rows, i) => {
      const values = random
        .floats(rows * K)
        .map((value, at) => value * ([5, 70, 71].includes(at % K) ? 20 : 1));
      const source = memorySource('weights', new Uint8Array(values.buffer));
      const name = NAMES[i]!;
      return [name, { name, dtype: 'F32', shape: [rows, K], source, offset: 0, bytes: values.byteLength }];
    }),
  );
}

const page = (table: WeightTable) =>
  table.stacked(
    Object.values(ROWS).map((rows, i) => ({ name: NAMES[i]!, rows })),
    K,
  );

const x = new Random(2).floats(3 * K);

/** x · Wᵀ with these tensors. */
async function product(
  tensors: ReadonlyMap<string, TensorEntry>,
  format: 'int4' | null = null,
): Promise<number[]> {
  const opened = openWeights(device, tensors, page, { format: format && FORMATS[format] });
  await opened.load();
  const y = await compute({
    device,
    capacity: { rows: 3 },
    sizes: { rows: 3 },
    record: (_, input) => linear(input(['rows', K], x), opened.page),
  });
  opened.free();
  return y.flatMap((row) => [...row]);
}

async function made(settings: Partial<SvdquantSettings>): Promise<QuantizedTensors> {
  const stored = weights();
  const all = { ...SETTINGS, ...settings };
  const targets = targetsOf(collect(stored, page).requests, stored, all);
  expect(targets).toEqual([{ names: NAMES, rows: Object.values(ROWS), k: K }]);
  const quantized = new QuantizedTensors(device, targets, stored, all);
  await quantized.make({ slot: null, onProgress: () => {}, onNote: () => {} });
  return quantized;
}

const distance = (found: readonly number[], wanted: readonly number[]): number =>
  Math.hypot(...found.map((value, i) => value - wanted[i]!)) / Math.hypot(...wanted);

describe('matrices with a low-rank part', () => {
  it('are nearer than int4, with any codes, and read one factor for parts of one product', async () => {
    const plain = await product(weights());
    const int4 = distance(await product(weights(), 'int4'), plain);
    const of = async (settings: Partial<SvdquantSettings>): Promise<number> => {
      const quantized = await made(settings);
      const found = distance(await product(quantized.tensors), plain);
      await quantized.close();
      return found;
    };
    const usual = await of({});
    expect(usual).toBeLessThan(0.7 * int4);
    expect(await of({ rank: 24 })).toBeLessThan(usual);
    expect(await of({ groupKs: 32 })).toBeLessThan(usual);
    expect(await of({ smoothing: 0.5 })).toBeLessThan(0.7 * int4);
    expect(await of({ precision: 'nvfp4', groupKs: 16 })).toBeLessThan(0.7 * int4);
  });
});
