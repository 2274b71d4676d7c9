import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { groupedLinear } from '../../src/kernels/grouped-linear.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { computeImages } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 4, 4],
  [23, 36, 12],
  [61, 320, 32],
])('%i rows of %i columns in groups of %i', async (rows, columns, group) => {
  const random = new Random(rows);
  const x = random.floats(rows * columns);
  const weight = random.floats(columns * group);
  const run = (on: Device) =>
    computeImages(on, (input) =>
      groupedLinear(input([rows, columns], x), on.tensor('weights', 'blocks', [columns, group], weight)),
    );
  const found = await run(device);
  expect(found.length).toBe(rows);
  found.forEach((values, row) =>
    values.forEach((value, column) => {
      const begins = column - (column % group);
      let wanted = 0;
      for (let i = 0; i < group; i++) wanted += x[row * columns + begins + i]! * weight[column * group + i]!;
      expectBelow(Math.abs(value - wanted), 1e-5 * (1 + Math.abs(wanted)));
    }),
  );
  for (const as of [{ bindingLimit: 48 << 10 }, { maxWorkgroups: 2 }])
    expect(differingRows(await run(disguise(device, as)), found)).toEqual([]);
});
