import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { gluConv } from '../../src/kernels/glu-conv.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 1, 5],
  [2, 3, 32, 5],
  [2, 19, 67, 4],
])('%i sounds of %i rows of %i columns, %i taps', async (items, rows, columns, taps) => {
  const random = new Random(columns);
  const x = random.floats(items * rows * 2 * columns);
  const weight = random.floats(columns * taps);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      gluConv(
        input([items, rows, 2 * columns], x),
        device.tensor('weights', 'kernels', [columns, taps], weight),
      ),
  });
  expect(y.length).toBe(items * rows);
  const unit = (row: number, column: number): number =>
    x[row * 2 * columns + column]! / (1 + Math.exp(-x[(row * 2 + 1) * columns + column]!));
  y.forEach((found, row) => {
    const first = Math.floor(row / rows) * rows;
    for (let column = 0; column < columns; column++) {
      let right = 0;
      for (let tap = 0; tap < taps; tap++) {
        const from = row - taps + 1 + tap;
        if (from >= first) right += weight[column * taps + tap]! * unit(from, column);
      }
      expect(found[column]).toBeCloseTo(right, 5);
    }
  });
});
