// Norms added to all streams but the first, against f64.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { streamAdd } from '../../src/kernels/stream-add.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const ROWS = 3;
const EPS = 1e-6;

it.each([
  ['cpu', 32],
  ['discrete', 288],
] as const)('profile %s: %i columns', async (profile, columns) => {
  const random = new Random(columns);
  const streams = random.floats(ROWS * 4 * columns);
  const x = random.floats(ROWS * columns);
  const weight = random.floats(columns);
  const on = disguise(device, { profile });
  const y = await compute({
    device: on,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      streamAdd(
        input([ROWS, 4 * columns], streams),
        input([ROWS, columns], x),
        on.tensor('weights', 'norm', [columns], weight),
        EPS,
      ),
  });
  y.forEach((values, row) => {
    const own = x.subarray(row * columns, (row + 1) * columns);
    const rate = 1 / Math.sqrt(own.reduce((sum, value) => sum + value * value, 0) / columns + EPS);
    values.forEach((value, at) => {
      const i = at % columns;
      const added = at < columns ? 0 : own[i]! * rate * weight[i]!;
      expect(Math.abs(value - streams[row * 4 * columns + at]! - added)).toBeLessThan(4e-6);
    });
  });
});
