// Products of columns against f32: columns beside others, more columns than a workgroup, padding that becomes zero.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { multiply } from '../../src/kernels/multiply.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [3, 4, 12, 0],
  [2, 10, 32, 20],
  [5, 300, 604, 304],
])('%i × %i of %i columns from column %i on', async (rows, columns, width, first) => {
  const random = new Random(width);
  const [a, b] = [random.floats(rows * width), random.floats(rows * columns)];
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => multiply({ x: input([rows, width], a), first }, input([rows, columns], b), columns),
  });
  expect(y).toHaveLength(rows);
  y.forEach((values, row) =>
    values.forEach((value, i) =>
      expect(value).toBe(Math.fround(a[row * width + first + i]! * b[row * columns + i]!)),
    ),
  );
});
