// Weights whose blocks of codes run across the ends of rows: they become f16 numbers.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { memorySource } from '../../files/memory-source.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { Random } from '../../kernels/compute.ts';
import { columnsOf, packStored, randomBlocks } from '../../kernels/stored.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

/** Rows of 320 values, 1¼ blocks; more than are read at once. */
const [ROWS, K] = [64, 320];

it.each([
  ['F32', 4],
  ['F16', 2],
] as const)('a tensor [1, rows, k] in %s is read as rows', async (dtype, width) => {
  const [rows, k] = [33, 20];
  const bytes = new Uint8Array(width * rows * k);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < rows * k; i++)
    if (width === 4) view.setFloat32(4 * i, i / 8, true);
    else view.setUint16(2 * i, 0x3c00 + i, true);
  const source = memorySource('m.safetensors', bytes);
  const entry = { name: 'x.weight', dtype, shape: [1, rows, k], source, offset: 0, bytes: bytes.length };
  const weights = openWeights(
    device,
    new Map([['x.weight', entry as TensorEntry]]),
    (table) => table.router('x.weight', rows, k),
    {
      format: null,
    },
  );
  await weights.load();
  const found = (await columnsOf(device, weights.page)).map((row) => [...row]);
  expect(found).toHaveLength(rows);
  const wanted = (i: number): number => (width === 4 ? i / 8 : 1 + i / 1024);
  expect(found).toEqual(
    Array.from({ length: rows }, (_, r) => Array.from({ length: k }, (__, i) => wanted(r * k + i))),
  );
  weights.free();
});

it('a tensor [2, rows, k] is no matrix of rows', () => {
  const bytes = new Uint8Array(4 * 2 * 3 * 4);
  const source = memorySource('m.safetensors', bytes);
  const entry = { name: 'x.weight', dtype: 'F32', shape: [2, 3, 4], source, offset: 0, bytes: bytes.length };
  const open = () =>
    openWeights(
      device,
      new Map([['x.weight', entry as TensorEntry]]),
      (table) => table.router('x.weight', 3, 4),
      { format: null },
    );
  expect(open).toThrow(/x\.weight has the shape \[2, 3, 4\]/);
});

describe.each(['q4_k', 'q6_k', 'q8_0', 'iq4_xs'] as const)('a matrix in %s', (type) => {
  const { blocks } = randomBlocks(type, (ROWS * K) / 256, 256, new Random(3));
  const tensors = new Map([
    [
      'x.weight',
      {
        name: 'x.weight',
        dtype: `FLAT_${type.toUpperCase()}`,
        shape: [ROWS, K],
        source: memorySource('m.gguf', blocks),
        offset: 0,
        bytes: blocks.length,
      } as TensorEntry,
    ],
  ]);

  it('has the values of its blocks in order', async () => {
    const weights = openWeights(device, tensors, (table) => table.matrix('x.weight', ROWS, K), {
      format: null,
    });
    expect(weights.formats).toEqual(['f16']);
    await weights.load();
    const found = (await columnsOf(device, weights.page)).flatMap((row) => [...row]);
    const matrix = packStored(device, type, { rows: (ROWS * K) / 256, k: 256, blocks }, { format: 'f32' });
    const wanted = (await columnsOf(device, matrix)).flatMap((row) => [...row]);
    expect(found).toHaveLength(ROWS * K);
    // A LoRA rounds to f16 in its own way.
    const differing = wanted.filter(
      (value, i) => Math.abs(found[i]! - value) > 2 ** -10 * Math.abs(value) + 2 ** -24,
    );
    expect(differing).toEqual([]);
    expect(new Set(wanted).size).toBeGreaterThan(100);
    weights.free();
  });
});
