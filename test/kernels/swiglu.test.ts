// SwiGLU by itself against f64: odd numbers of columns, their padding, more rows than a workgroup.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { swiglu } from '../../src/kernels/swiglu.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const silu = (value: number): number => value / (1 + Math.exp(-value));

it.each([
  [1, 4],
  [3, 20],
  [37, 132],
])('%i × %i', async (rows, columns) => {
  const x = new Random(rows * columns).floats(rows * columns).map((value) => 4 * value);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => swiglu(input([rows, columns], x)),
  });
  expect(y).toHaveLength(rows);
  for (const [row, values] of y.entries()) {
    expect(values).toHaveLength(columns / 2);
    for (const [column, value] of [...values].entries()) {
      // Two gates, then the two columns that they open.
      const at = row * columns + 4 * (column >> 1) + (column & 1);
      const wanted = silu(x[at]!) * x[at + 2]!;
      expect(Math.abs(value - wanted)).toBeLessThan(1e-5 * (1 + Math.abs(wanted)));
    }
  }
});
