// Channels side by side, whole quads and not, in one piece and in strips.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { concat } from '../../src/kernels/concat.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { computeImages } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function expectBoth(on: Device, shape: number[], n: number, m: number): Promise<void> {
  const rows = shape.reduce((product, extent) => product * extent, 1);
  const random = new Random(n + m);
  const [a, b] = [random.floats(rows * n), random.floats(rows * m)];
  const y = await computeImages(on, (input) => concat(input([...shape, n], a), input([...shape, m], b)));
  expect(y.length).toBe(rows);
  const wrong = y.filter((row, i) => {
    const wanted = [...a.subarray(i * n, (i + 1) * n), ...b.subarray(i * m, (i + 1) * m)];
    return row.length !== n + m || row.some((value, column) => value !== wanted[column]);
  });
  expect(wrong.length).toBe(0);
}

it.each([
  [4, 1],
  [5, 4],
  [1, 1],
  [32, 32],
  [64, 37],
  [37, 64],
  [320, 640],
  [1279, 5],
])('%i and %i channels', async (n, m) => {
  await expectBoth(device, [2, 3, 5], n, m);
  await expectBoth(device, [3], n, m);
});

it('channels in bindings of 256 KiB', async () => {
  const narrow = disguise(device, { bindingLimit: 256 << 10 });
  await expectBoth(narrow, [2, 31, 37], 64, 33);
  await expectBoth(narrow, [1, 64, 63], 3, 5);
});

it('inputs of different rows are refused', async () => {
  const run = computeImages(device, (input) =>
    concat(input([2, 3], new Float32Array(6)), input([3, 3], new Float32Array(9))),
  );
  await expect(run).rejects.toThrow('concat: [2, 3] and [3, 3]');
});
