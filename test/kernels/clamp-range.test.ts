import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { clampRange } from '../../src/kernels/clamp-range.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, -0.25, 0.5],
  [7, 67, -0.25, Infinity],
  [3, 130, -Infinity, 0.1],
  [2, 5, -Infinity, Infinity],
])('%i rows of %i columns between %f and %f', async (rows, columns, low, high) => {
  const values = new Random(columns).floats(rows * columns);
  const bound = (value: number) => device.tensor('weights', 'bound', [1], Float32Array.of(value));
  const range = { low: bound(low), high: bound(high) };
  for (const activation of ['none', 'silu'] as const) {
    const y = await compute({
      device,
      capacity: { rows: 16 },
      sizes: { rows },
      record: (_, input) => clampRange(input(['rows', columns], values), range, activation),
    });
    expect(y.length).toBe(rows);
    y.flatMap((row) => [...row]).forEach((value, i) => {
      const clamped = Math.min(Math.max(values[i]!, Math.fround(low)), Math.fround(high));
      expectCloseTo(value, activation === 'none' ? clamped : clamped / (1 + Math.exp(-clamped)), 6);
    });
  }
});
