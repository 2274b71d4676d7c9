// Gated norms of heads against f64: gates in one run and in several, far below and above zero, heads of more quads than a workgroup.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { gatedRmsnorm } from '../../src/kernels/gated-rmsnorm.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const EPS = 1e-6;
const ROWS = 5;

it.each([
  { heads: 3, dims: 4, first: 8, run: 3, stride: 0, columns: 20 },
  { heads: 4, dims: 20, first: 4, run: 2, stride: 60, columns: 107 },
  { heads: 2, dims: 132, first: 0, run: 1, stride: 140, columns: 272 },
])('$heads heads of $dims, gates in runs of $run', async ({ heads, dims, first, run, stride, columns }) => {
  const random = new Random(dims);
  const x = random.floats(ROWS * heads * dims);
  const gates = random.floats(ROWS * columns).map((gate) => 9 * gate);
  gates[first] = -200;
  const weight = random.floats(dims);
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      gatedRmsnorm(
        input([ROWS, heads * dims], x),
        device.tensor('weights', 'norm', [dims], weight),
        { x: input([ROWS, columns], gates), first, run, stride },
        EPS,
      ),
  });
  for (const [row, values] of y.entries()) {
    for (let head = 0; head < heads; head++) {
      const own = x.subarray((row * heads + head) * dims, (row * heads + head + 1) * dims);
      const length = Math.sqrt(own.reduce((sum, value) => sum + value * value, 0) / dims + EPS);
      const gate = row * columns + first + Math.floor(head / run) * stride + (head % run) * dims;
      own.forEach((value, d) => {
        const z = gates[gate + d]!;
        const wanted = ((value / length) * weight[d]! * z) / (1 + Math.exp(-z));
        expectBelow(Math.abs(values[head * dims + d]! - wanted), 1e-5);
      });
    }
  }
});

it('gates that end before the last head are a mistake of the caller', async () => {
  const made = compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => {
      const x = input([1, 16], new Float32Array(16));
      const weight = device.tensor('weights', 'norm', [8], new Float32Array(8));
      return gatedRmsnorm(x, weight, { x, first: 4, run: 2, stride: 0 }, EPS);
    },
  });
  await expect(made).rejects.toThrow('gatedRmsnorm: heads of 8 in 16 columns, gates up to 20 of 16');
});
