// Gated units by themselves against f64: odd numbers of columns, their padding, more rows than a workgroup.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { gated } from '../../src/kernels/gated.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const ACTIVATIONS = {
  silu: (value: number): number => value / (1 + Math.exp(-value)),
  'gelu-tanh': (value: number): number =>
    (value / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (value + 0.044715 * value ** 3))),
};

it.each([
  [1, 4, 'silu'],
  [3, 20, 'gelu-tanh'],
  [37, 132, 'silu'],
] as const)('%i × %i, %s', async (rows, columns, activation) => {
  const x = new Random(rows * columns).floats(rows * columns).map((value) => 4 * value);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => gated(input([rows, columns], x), activation),
  });
  expect(y).toHaveLength(rows);
  for (const [row, values] of y.entries()) {
    expect(values).toHaveLength(columns / 2);
    for (const [column, value] of [...values].entries()) {
      // Two gate columns, then the two value columns that they multiply.
      const at = row * columns + 4 * (column >> 1) + (column & 1);
      const wanted = ACTIVATIONS[activation](x[at]!) * x[at + 2]!;
      expectBelow(Math.abs(value - wanted), 1e-5 * (1 + Math.abs(wanted)));
    }
  }
});
