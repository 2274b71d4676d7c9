import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { meanRows } from '../../src/kernels/mean-rows.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const TOLERANCE = 1e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([1, 31, 128, 131])('%i columns', async (columns) => {
  const rows = 37;
  const values = new Random(columns).floats(rows * columns);
  const ranges = [
    [0, 1],
    [36, 1],
    [3, 17],
    [0, 37],
    [20, 2],
  ];
  const found = await compute({
    device,
    capacity: { sampled: 8 },
    sizes: { sampled: ranges.length },
    record: (_, input) =>
      meanRows(input([rows, columns], values), upload(device, Uint32Array.from(ranges.flat()))),
  });
  expect(found.length).toBe(ranges.length);
  ranges.forEach(([first, count], item) => {
    for (let column = 0; column < columns; column++) {
      let sum = 0;
      for (let row = first!; row < first! + count!; row++) sum += values[row * columns + column]!;
      expectBelow(Math.abs(found[item]![column]! - sum / count!), TOLERANCE);
    }
  });
});
