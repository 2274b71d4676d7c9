// Gated rows against f64: gates far below and above zero, odd numbers of columns, more columns than a workgroup.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { gateRows } from '../../src/kernels/gate-rows.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const GATES = Float32Array.from([0, -3, 2.5, -200, 200]);

it.each([
  [1, 'sigmoid'],
  [1031, 'sigmoid'],
  [1031, 'gate'],
] as const)('rows of %i by %s', async (columns, by) => {
  const rows = GATES.length;
  const x = new Random(columns).floats(rows * columns);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => gateRows(input([rows, columns], x), input([rows, 1], GATES), by),
  });
  expect(y).toHaveLength(rows);
  for (const [row, values] of y.entries()) {
    for (const [column, value] of [...values].entries()) {
      const factor = by === 'gate' ? GATES[row]! : 1 / (1 + Math.exp(-GATES[row]!));
      const wanted = x[row * columns + column]! * factor;
      expectBelow(Math.abs(value - wanted), 1e-6 * Math.max(1, Math.abs(factor)));
    }
  }
});
