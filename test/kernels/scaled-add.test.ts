import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { scaledAdd } from '../../src/kernels/scaled-add.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const ROWS = 70;
const FACTOR = 0.2;
/** Tolerance for sums of two values around 1. */
const TOLERANCE = 1e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([1, 31, 64, 129])('the sum of %i columns', async (columns) => {
  const random = new Random(columns);
  const x = random.floats(ROWS * columns);
  const residual = random.floats(ROWS * columns);
  const run = (on: Device) =>
    compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) => scaledAdd(input([ROWS, columns], x), FACTOR, input([ROWS, columns], residual)),
    });
  const found = await run(device);
  expect(found.length).toBe(ROWS);
  found.forEach((row, i) =>
    row.forEach((value, k) => {
      const at = i * columns + k;
      expectBelow(Math.abs(value - (FACTOR * x[at]! + residual[at]!)), TOLERANCE);
    }),
  );
  expect(differingRows(await run(disguise(device, { bindingLimit: 16 << 10 })), found)).toEqual([]);
});

it('tensors of different shapes are not added', async () => {
  const run = compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      scaledAdd(input([2, 4], new Float32Array(8)), 1, input([2, 3], new Float32Array(6))),
  });
  await expect(run).rejects.toThrow('scaledAdd: [2,4] to [2,3]: equal shapes are wanted');
});
