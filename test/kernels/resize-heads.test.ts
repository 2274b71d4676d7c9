// Heads of another width: every value in its place, zeros elsewhere, on rows of a fixed number and of one that is known at replay.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import { resizeHeads } from '../../src/kernels/resize-heads.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

function resized(row: Float32Array, first: number, heads: number, from: number, to: number): number[] {
  return Array.from({ length: heads * to }, (_, i) =>
    i % to < from ? row[first + Math.floor(i / to) * from + (i % to)]! : 0,
  );
}

it.each([
  { heads: 1, from: 1, to: 4, first: 0, rows: 1 },
  { heads: 3, from: 10, to: 12, first: 7, rows: 5 },
  { heads: 7, from: 56, to: 54, first: 0, rows: 3 },
  { heads: 2, from: 8, to: 8, first: 4, rows: 2 },
])('$heads heads of $from dimensions from column $first on, to $to', async (shape) => {
  const { heads, from, to, first, rows } = shape;
  const columns = first + heads * from + 3;
  const x = new Random(heads * 100 + from).floats(rows * columns);
  const wanted = Array.from({ length: rows }, (_, row) =>
    resized(x.subarray(row * columns, (row + 1) * columns), first, heads, from, to),
  );
  const run = (on: Device, shapeOfX: (number | string)[]) =>
    compute({
      device: on,
      capacity: { rows: rows + 2 },
      sizes: { rows },
      record: (_, input) => resizeHeads({ x: input(shapeOfX, x), first }, { heads, from, to }),
    });
  expect((await run(device, ['rows', columns])).map((row) => [...row])).toEqual(wanted);
  expect((await run(device, [rows, columns])).map((row) => [...row])).toEqual(wanted);
});

it('an image whose rows exceed one binding is walked in parts', async () => {
  const small = disguise(device, { bindingLimit: 16384 });
  const [rows, heads] = [200, 3];
  const x = new Random(9).floats(rows * heads * 10);
  const y = await compute({
    device: small,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      resizeHeads({ x: input([2, 100, heads * 10], x), first: 0 }, { heads, from: 10, to: 12 }),
  });
  expect(y.map((row) => [...row])).toEqual(
    Array.from({ length: rows }, (_, row) =>
      resized(x.subarray(row * heads * 10, (row + 1) * heads * 10), 0, heads, 10, 12),
    ),
  );
});

it('heads beyond the columns are a mistake of the caller', () => {
  const x = new Tape(device, { rows: 1 }).tensor(['rows', 29]);
  expect(() => resizeHeads({ x, first: 0 }, { heads: 3, from: 10, to: 12 })).toThrow(
    '3 heads of 10 from 0 on, of 29 columns',
  );
});
