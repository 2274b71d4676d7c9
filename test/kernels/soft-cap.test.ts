// Soft caps against f64: odd numbers of columns, more rows than one, values far beyond the cap and small ones.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { softCap } from '../../src/kernels/soft-cap.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 30],
  [3, 257, 30],
  [2, 1031, 0.5],
])('%i × %i within ±%d', async (rows, columns, cap) => {
  const scales = [0.01, 1, 40, 5000];
  const x = new Random(columns).floats(rows * columns).map((value, i) => value * scales[i % 4]!);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => softCap(input([rows, columns], x), cap),
  });
  expect(y).toHaveLength(rows);
  for (const [row, values] of y.entries()) {
    for (const [column, value] of [...values].entries()) {
      const wanted = cap * Math.tanh(x[row * columns + column]! / cap);
      expectBelow(Math.abs(value - wanted), 1e-6 * cap);
    }
  }
});
