// Scaled values against f32: odd numbers of columns, more columns than a workgroup, more rows than one.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { scale } from '../../src/kernels/scale.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 0.125],
  [3, 1031, 1.7],
])('%i × %i by %d', async (rows, columns, factor) => {
  const x = new Random(columns).floats(rows * columns);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => scale(input([rows, columns], x), factor),
  });
  const wanted = x.map((value) => Math.fround(value * Math.fround(factor)));
  y.forEach((values, row) => expect(values).toEqual(wanted.slice(row * columns, (row + 1) * columns)));
  expect(y).toHaveLength(rows);
});
