import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { centreColumns } from '../../src/kernels/centre-columns.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1],
  [7, 67],
  [65, 32],
])('%i rows of %i columns', async (rows, columns) => {
  const random = new Random(columns);
  const [values, centre, factor] = [rows * columns, columns, columns].map((count) => random.floats(count));
  const [y] = [
    await compute({
      device,
      capacity: { rows: 80 },
      sizes: { rows },
      record: (_, input) =>
        centreColumns(
          input(['rows', columns], values!),
          device.tensor('weights', 'centre', [columns], centre!),
          device.tensor('weights', 'factor', [columns], factor!),
        ),
    }),
  ];
  expect(y.length).toBe(rows);
  y.flatMap((row) => [...row]).forEach((value, i) =>
    expectCloseTo(value, (values![i]! - centre![i % columns]!) * factor![i % columns]!, 6),
  );
});
