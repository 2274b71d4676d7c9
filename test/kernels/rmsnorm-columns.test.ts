import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { rmsnormColumns } from '../../src/kernels/rmsnorm-columns.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';

const EPS = 1e-5;
const TOLERANCE = 2e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  ['cpu', 0, 4, 12],
  ['cpu', 4, 8, 12],
  ['cpu', 64, 132, 260],
  ['cpu', 128, 1028, 1200],
  ['discrete', 64, 132, 260],
] as const)(
  'profile %s: columns from %i on, %i of %i: the others stay',
  async (profile, first, count, columns) => {
    const on = disguise(device, { profile });
    const random = new Random(first + count);
    const rows = 5;
    const values = random.floats(rows * columns);
    const weight = random.floats(count);
    const gain = on.tensor('weights', 'gain', [count], weight);
    const y = await compute({
      device: on,
      capacity: { rows: 16 },
      sizes: { rows },
      record: (_, input) => rmsnormColumns(input(['rows', columns], values), first, gain, EPS),
    });
    expect(y.length).toBe(rows);
    y.forEach((row, i) => {
      const x = values.subarray(i * columns, (i + 1) * columns);
      const normed = x.subarray(first, first + count);
      const rate = 1 / Math.sqrt(normed.reduce((sum, v) => sum + v * v, 0) / count + EPS);
      row.forEach((value, column) => {
        const inside = column >= first && column < first + count;
        const wanted = inside ? x[column]! * rate * weight[column - first]! : x[column]!;
        expect(Math.abs(value - wanted)).toBeLessThanOrEqual(inside ? TOLERANCE * Math.abs(wanted) : 0);
      });
    });
  },
);

it('the columns of another tensor are added', async () => {
  const random = new Random(9);
  const [values, others, weight] = [random.floats(24), random.floats(24), random.floats(4)];
  const gain = device.tensor('weights', 'gain', [4], weight);
  const y = await compute({
    device,
    capacity: { rows: 16 },
    sizes: { rows: 2 },
    record: (_, input) =>
      rmsnormColumns(input(['rows', 12], values), 4, gain, EPS, input(['rows', 12], others)),
  });
  y.forEach((row, i) => {
    const x = values.subarray(i * 12 + 4, i * 12 + 8);
    const rate = 1 / Math.sqrt(x.reduce((sum, v) => sum + v * v, 0) / 4 + EPS);
    row.forEach((value, column) => {
      const at = i * 12 + column;
      const inside = column >= 4 && column < 8;
      const wanted = inside ? values[at]! * rate * weight[column - 4]! + others[at]! : values[at]!;
      expect(Math.abs(value - wanted)).toBeLessThanOrEqual(inside ? 2e-6 : 0);
    });
  });
});

it('columns that are not there are an assertion', async () => {
  const gain = device.tensor('weights', 'gain', [8], new Float32Array(8));
  const record = (first: number) =>
    compute({
      device,
      capacity: { rows: 1 },
      sizes: { rows: 1 },
      record: (_, input) => rmsnormColumns(input(['rows', 12], new Float32Array(12)), first, gain, EPS),
    });
  await expect(record(8)).rejects.toThrow(/8 columns from 8 on, of 12/);
});

it('rows beyond a binding and beyond a dispatch give equal bits', async () => {
  const random = new Random(3);
  const values = random.floats(90 * 64);
  const gains = random.floats(32);
  const run = (on: typeof device) =>
    compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) =>
        rmsnormColumns(input([2, 45, 64], values), 16, on.tensor('weights', 'gain', [32], gains), EPS),
    });
  const whole = await run(device);
  for (const as of [{ bindingLimit: 8 << 10 }, { maxWorkgroups: 16 }])
    expect(differingRows(await run(disguise(device, as)), whole)).toEqual([]);
});
