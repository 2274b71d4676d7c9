import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { gluConv } from '../../src/kernels/glu-conv.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 1, 5, false],
  [2, 3, 32, 5, false],
  [2, 19, 67, 4, false],
  [1, 1, 3, 3, true],
  [2, 13, 67, 3, true],
])('%i sounds of %i rows of %i columns, %i taps, biased %s', async (items, rows, columns, taps, isBiased) => {
  const random = new Random(columns);
  const [value, gate, out] = Array.from({ length: 3 }, () =>
    isBiased ? random.floats(columns) : new Float32Array(columns),
  ) as [Float32Array<ArrayBuffer>, Float32Array<ArrayBuffer>, Float32Array<ArrayBuffer>];
  const vector = (values: Float32Array<ArrayBuffer>) => device.tensor('weights', 'biases', [columns], values);
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
        isBiased ? { value: vector(value), gate: vector(gate), out: vector(out) } : null,
      ),
  });
  expect(y.length).toBe(items * rows);
  const unit = (row: number, column: number): number => {
    const b = x[(row * 2 + 1) * columns + column]! + gate[column]!;
    return ((x[row * 2 * columns + column]! + value[column]!) * (isBiased ? b : 1)) / (1 + Math.exp(-b));
  };
  y.forEach((found, row) => {
    const first = Math.floor(row / rows) * rows;
    for (let column = 0; column < columns; column++) {
      let right = out[column]!;
      for (let tap = 0; tap < taps; tap++) {
        const from = row - taps + 1 + tap;
        if (from >= first) right += weight[column * taps + tap]! * unit(from, column);
      }
      expectCloseTo(found[column], right, 5);
    }
  });
});
