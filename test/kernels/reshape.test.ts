// Values in another shape keep their order.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { reshape } from '../../src/kernels/reshape.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { computeImages } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [
    [32, 60],
    [1, 1920],
  ],
  [
    [1, 1, 36],
    [2, 3, 6],
  ],
  [
    [7, 33],
    [11, 21],
  ],
])('%j to %j', async (from, to) => {
  const count = from.reduce((product, extent) => product * extent, 1);
  const x = new Random(count).floats(count);
  const y = await computeImages(device, (input) => reshape(input(from, x), to));
  expect(y[0]).toHaveLength(to.at(-1)!);
  expect(y.flatMap((row) => [...row])).toEqual([...x]);
});

it('another number of values is refused', async () => {
  const run = computeImages(device, (input) => reshape(input([2, 3], new Float32Array(6)), [5]));
  await expect(run).rejects.toThrow('reshape: [2, 3] to [5]');
});
