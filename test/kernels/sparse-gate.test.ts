// Gates above a cutoff of their row against f64, with columns that pad the result.

import { afterAll, beforeAll, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { sparseGate } from '../../src/kernels/sparse-gate.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const ROWS = 3;

it.each([
  [4, 0],
  [300, 1.6448536],
])('%i gates of which those below %d deviations are closed', async (columns, deviations) => {
  const random = new Random(columns);
  const x = random.floats(ROWS * 2 * columns).map((value) => 3 * value + 0.5);
  for (const profile of ['cpu', 'discrete'] as const) {
    const y = await compute({
      device: disguise(device, { profile }),
      capacity: {},
      sizes: {},
      record: (_, input) => sparseGate(input([ROWS, 2 * columns], x), deviations),
    });
    y.forEach((values, row) => {
      const gates = Float64Array.from(x.subarray(2 * row * columns, (2 * row + 1) * columns));
      const mean = gates.reduce((sum, gate) => sum + gate, 0) / columns;
      const deviation = Math.sqrt(gates.reduce((sum, gate) => sum + (gate - mean) ** 2, 0) / columns);
      values.forEach((value, i) => {
        const v = Math.max(gates[i]! - mean - deviations * deviation, 0);
        const z = Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3);
        const wanted = (v / 2) * (1 + Math.tanh(z)) * x[(2 * row + 1) * columns + i]!;
        expectBelow(Math.abs(value - wanted), 2e-5);
      });
    });
  }
});
