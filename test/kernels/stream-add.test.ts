// Norms added to all streams but the first, against f64.

import { afterAll, beforeAll, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { streamAdd } from '../../src/kernels/stream-add.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const EPS = 1e-6;

it.each([
  ['cpu', 3, 32, undefined],
  ['discrete', 3, 288, undefined],
  ['discrete', 37, 32, 10 << 10],
] as const)('%s: %i rows of %i columns, bindings of %s bytes', async (profile, rows, columns, limit) => {
  const random = new Random(columns);
  const streams = random.floats(rows * 4 * columns);
  const x = random.floats(rows * columns);
  const weight = random.floats(columns);
  const on = disguise(device, { profile, ...(limit && { bindingLimit: limit }) });
  const y = await compute({
    device: on,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      streamAdd(
        input([rows, 4 * columns], streams),
        input([rows, columns], x),
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
      expectBelow(Math.abs(value - streams[row * 4 * columns + at]! - added), 4e-6);
    });
  });
});
