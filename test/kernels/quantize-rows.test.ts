// Rows of activations in 8 bits, bit by bit against what is computed here.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { Tensor } from '../../src/gpu/tensor.ts';
import { quantizeRows, type WordOrder } from '../../src/kernels/quantize-rows.ts';
import { rmsnorm } from '../../src/kernels/rmsnorm.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { Random, upload } from './compute.ts';
import { activations, roundedBlock } from './rounded-rows.ts';
import { roundedWords } from './rounded-tape.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Places of a block's k's in its words, four a word. */
const PLACES: Record<WordOrder, readonly number[]> = {
  'in-order': Array.from({ length: 32 }, (_, i) => i),
  interleaved: Array.from({ length: 32 }, (_, i) => (i & ~7) + ((2 * i) % 8) + ((i % 8) >> 2)),
};

function expectedRow(row: Float32Array, order: WordOrder): Uint32Array {
  const blocks = Math.ceil(row.length / 32);
  const words = new Uint32Array(Math.ceil((12 * blocks) / 32) * 32);
  for (let b = 0; b < blocks; b++) {
    const { scale, codes } = roundedBlock(row.subarray(32 * b, 32 * b + 32));
    const bytes = Int8Array.from(PLACES[order], (k) => codes[k]!);
    words.set(new Uint32Array(bytes.buffer), 12 * b);
    const sum = (part: Int8Array): number => part.reduce((a, c) => a + c, 0);
    words.set(new Uint32Array(Float32Array.of(scale).buffer), 12 * b + 8);
    words.set(Int32Array.of(sum(codes), sum(codes.subarray(0, 16)), sum(codes.subarray(16))), 12 * b + 9);
  }
  return words;
}

it.each(['in-order', 'interleaved'] as const)(
  '%s: codes, scales and sums are those of each block alone',
  async (order) => {
    for (const columns of [1, 33, 70, 1056]) {
      const x = activations(3, columns, new Random(columns));
      const found = await roundedWords(device, { x, columns, capacity: 6 }, (of) => quantizeRows(of, order));
      found.forEach((row, i) =>
        expect([columns, row]).toEqual([
          columns,
          expectedRow(x.subarray(i * columns, (i + 1) * columns), order),
        ]),
      );
    }
  },
);

it('a block of zeros, or of numbers whose scale would be subnormal, is zeros', async () => {
  const x = new Float32Array(64);
  x.fill(1e-37, 32);
  const [row] = await roundedWords(device, { x, columns: 64, capacity: 1 }, (of) =>
    quantizeRows(of, 'in-order'),
  );
  expect(row).toEqual(new Uint32Array(32));
});

it('rows are rounded once for several products, and again after a kernel has changed them', () => {
  const tape = new Tape(device, { rows: 4 });
  const x = tape.tensor(['rows', 64]);
  const first = quantizeRows(x, 'in-order');
  expect(quantizeRows(x, 'in-order')).toBe(first);
  expect(quantizeRows(x, 'interleaved')).not.toBe(first);
  const weight = new Tensor([64], 'f32', { region: upload(device, new Float32Array(64)) });
  const normed = rmsnorm(x, weight, 1e-5);
  const before = quantizeRows(normed, 'in-order');
  tape.changes.record([{ name: 'y', index: 0, type: 'storage' }], { y: normed });
  expect(quantizeRows(normed, 'in-order')).not.toBe(before);
  tape.finish();
  tape.destroy();
});
