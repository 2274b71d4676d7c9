// Inputs that are shifted and scaled column by column.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { smoothRows } from '../../src/kernels/smooth-rows.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 32],
  [7, 100],
  [65, 288],
])('%i rows of %i columns', async (rows, columns) => {
  const random = new Random(rows);
  const x = random.floats(rows * columns);
  const table = random.floats(2 * columns);
  const smooth = device.tensor('step', 'smoothing', [2, columns], table);
  const y = await compute({
    device,
    capacity: { rows: rows + 3 },
    sizes: { rows },
    record: (_, input) => {
      const spare = new Float32Array((rows + 3) * columns);
      spare.set(x);
      return smoothRows(input(['rows', columns], spare), smooth);
    },
  });
  device.free(smooth.region!.buffer);
  y.forEach((row, i) =>
    expect([...row]).toEqual(
      Array.from({ length: columns }, (_, at) =>
        Math.fround(Math.fround(x[i * columns + at]! + table[columns + at]!) * table[at]!),
      ),
    ),
  );
});
