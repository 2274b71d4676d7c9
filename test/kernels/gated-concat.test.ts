// A gated unit behind other columns against f64, in one piece and in strips.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { gatedConcat } from '../../src/kernels/gated-concat.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { computeImages } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const silu = (value: number): number => value / (1 + Math.exp(-value));

async function expectJoined(on: Device, rows: number, n: number, first: number, columns: number) {
  const random = new Random(rows + n);
  const width = first + 2 * columns;
  const [a, x] = [random.floats(rows * n), random.floats(rows * width).map((value) => 4 * value)];
  const y = await computeImages(on, (input) =>
    gatedConcat(input([1, rows, n], a), { x: input([1, rows, width], x), first }, columns),
  );
  expect(y).toHaveLength(rows);
  const wrong = y.filter((row, i) =>
    row.some((value, column) => {
      const at = i * width + first + column - n;
      const wanted = column < n ? a[i * n + column]! : silu(x[at]!) * x[at + columns]!;
      return !(Math.abs(value - wanted) < 1e-5 * (1 + Math.abs(wanted)));
    }),
  );
  expect(y[0]).toHaveLength(n + columns);
  expect(wrong).toEqual([]);
}

it.each([
  [1, 4, 0, 4],
  [7, 60, 180, 156],
  [33, 32, 4, 64],
])('%i rows: %i columns, then a gate at %i of %i', async (...sizes) => {
  await expectJoined(device, ...sizes);
});

it('rows in bindings of 256 KiB', async () => {
  await expectJoined(disguise(device, { bindingLimit: 256 << 10 }), 300, 60, 180, 156);
});

it('columns that are not there are refused', async () => {
  const run = computeImages(device, (input) =>
    gatedConcat(input([2, 4], new Float32Array(8)), { x: input([2, 12], new Float32Array(24)), first: 8 }, 4),
  );
  await expect(run).rejects.toThrow('gatedConcat: [2, 4] and 4 of [2, 12]');
});
