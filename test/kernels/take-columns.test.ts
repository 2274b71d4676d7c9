// Columns as a tensor of their own, with columns that pad it.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { takeColumns } from '../../src/kernels/take-columns.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [3, 5, 12, 4],
  [2, 300, 604, 304],
])('%i × %i of %i columns from column %i on', async (rows, columns, width, first) => {
  const x = new Random(width).floats(rows * width);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => takeColumns({ x: input([rows, width], x), first }, columns),
  });
  expect(y.map((row) => [...row])).toEqual(
    Array.from({ length: rows }, (_, row) => [...x.subarray(row * width + first).subarray(0, columns)]),
  );
});
