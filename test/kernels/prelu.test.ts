import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { prelu } from '../../src/kernels/prelu.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';

const ROWS = 70;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([1, 31, 64, 129])('slopes of %i channels', async (columns) => {
  const random = new Random(columns);
  const x = random.floats(ROWS * columns);
  const slope = random.floats(columns);
  const run = (on: Device) =>
    compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) => prelu(input([ROWS, columns], x), input([columns], slope)),
    });
  const found = await run(device);
  expect(found.length).toBe(ROWS);
  found.forEach((row, i) =>
    row.forEach((value, k) => {
      const given = x[i * columns + k]!;
      expect(value).toBe(given > 0 ? given : Math.fround(slope[k]! * given));
    }),
  );
  expect(differingRows(await run(disguise(device, { bindingLimit: 16 << 10 })), found)).toEqual([]);
});

it('slopes for other channels are not taken', async () => {
  const run = compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => prelu(input([2, 4], new Float32Array(8)), input([3], new Float32Array(3))),
  });
  await expect(run).rejects.toThrow('prelu: 3 slopes for 4 channels');
});
