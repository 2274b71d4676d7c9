import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { logitDifference } from '../../src/kernels/logit-difference.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  { rows: 1, columns: 3, plus: 2, minus: 0 },
  { rows: 13, columns: 331, plus: 7, minus: null },
  { rows: 13, columns: 331, plus: 7, minus: 330 },
])('the logit of a token above that of another: %o', async ({ rows, columns, plus, minus }) => {
  const x = new Random(columns).floats(rows * columns);
  const y = await compute({
    device,
    capacity: { rows: rows + 2 },
    sizes: { rows },
    record: (_, input) => logitDifference(input(['rows', columns], x), plus, minus),
  });
  expect(y.map(([value]) => value)).toEqual(
    Array.from({ length: rows }, (_, row) =>
      Math.fround(x[row * columns + plus]! - (minus === null ? 0 : x[row * columns + minus]!)),
    ),
  );
});
