// Rows under an RMSNorm in 8 bits, against norms in f64.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { NormedRows } from '../../src/kernels/normed.ts';
import { quantizeNormed } from '../../src/kernels/quantize-normed.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { roundedWords } from './rounded-tape.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const EPS = 1e-5;

function normedRow(row: Float32Array, gain: Float32Array): Float64Array {
  const squares = row.reduce((sum, value) => sum + value * value, 0);
  const rate = 1 / Math.sqrt(squares / row.length + EPS);
  return Float64Array.from(row, (value, i) => value * rate * gain[i]!);
}

/** The second turn of 256 lanes' blocks begins at 8,192 columns. */
it.each([33, 8230])('%s columns: a row is right, and the same in any company', async (columns) => {
  const rows = 5;
  const x = new Random(columns).floats(rows * columns);
  const gain = new Random(columns + 1).floats(columns);
  const weight = device.tensor('weights', 'gain', [columns], gain);
  const run = (from: number, to: number, capacity: number): Promise<Uint32Array[]> =>
    roundedWords(device, { x: x.subarray(from * columns, to * columns), columns, capacity }, (of) =>
      quantizeNormed(new NormedRows(of, weight, EPS), 'in-order'),
    );
  const all = await run(0, rows, 16);
  all.forEach((words, row) => {
    const values = normedRow(x.subarray(row * columns, (row + 1) * columns), gain);
    for (let block = 0; 32 * block < columns; block++) {
      const own = values.subarray(32 * block, 32 * block + 32);
      const codes = new Int8Array(words.buffer, 48 * block, 32);
      const [scale] = new Float32Array(words.buffer, 48 * block + 32, 1);
      const largest = own.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      expectBelow(Math.abs(scale! / (largest / 127) - 1), 1e-5);
      own.forEach((value, i) => expectBelow(Math.abs(codes[i]! - value / scale!), 0.501));
      const sum = (part: Int8Array): number => part.reduce((a, c) => a + c, 0);
      expect([...new Int32Array(words.buffer, 48 * block + 36, 3)]).toEqual([
        sum(codes),
        sum(codes.subarray(0, 16)),
        sum(codes.subarray(16)),
      ]);
    }
    expect(words.subarray(12 * Math.ceil(columns / 32)).every((word) => word === 0)).toBe(true);
  });
  expect(await run(3, 4, 1)).toEqual([all[3]]);
});

it('rows that a kernel has changed since the norm was asked for are refused', () => {
  const tape = new Tape(device, { rows: 1 }, { decodes: ['rows'] });
  const x = tape.tensor(['rows', 64]);
  const weight = device.tensor('weights', 'gain', [64], new Float32Array(64));
  const rows = new NormedRows(x, weight, EPS);
  const first = quantizeNormed(rows, 'in-order');
  expect(quantizeNormed(rows, 'in-order')).toBe(first);
  tape.changes.record([{ name: 'y', index: 0, type: 'storage' }], { y: x });
  expect(() => quantizeNormed(rows, 'in-order')).toThrow('is read after a kernel has changed its rows');
});
