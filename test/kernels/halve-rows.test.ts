// Rows in f16 and their factors, against rounding in JavaScript.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { halveRows } from '../../src/kernels/halve-rows.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, f16Value, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const [ROWS, K] = [37, 70];
const BLOCKS = 3;

function run(on: Device, x: Float32Array): Promise<Float32Array[]> {
  return compute({
    device: on,
    capacity: { rows: ROWS },
    sizes: { rows: ROWS },
    record: (_, input) => halveRows(input(['rows', K], x)),
  });
}

it('rows are scaled to 2¹⁴ or more at the largest value, rounded to f16, and scaled back exactly', async () => {
  const random = new Random(9);
  const x = random.floats(ROWS * K).map((value, i) => value * 2 ** (((i / K) | 0) * 6 - 110));
  x.fill(0, 5 * K, 6 * K);
  (await run(device, x)).forEach((words, row) => {
    const bits = new Uint16Array(words.buffer, 0, 32 * BLOCKS);
    const factor = words[16 * BLOCKS]!;
    expect(Number.isInteger(Math.log2(factor))).toBe(true);
    const values = Array.from(bits, (of) => f16Value(of));
    const largest = Math.max(...values.map(Math.abs));
    if (row === 5) expect(largest).toBe(0);
    else expect(largest >= 2 ** 14 && largest <= 2 ** 15).toBe(true);
    values.forEach((value, k) => {
      const exact = k < K ? x[row * K + k]! : 0;
      expect(Math.abs(value * factor - exact)).toBeLessThanOrEqual(Math.abs(exact) * 2 ** -10);
    });
  });
});

it('strips of rows that exceed a binding come out the same', async () => {
  const x = new Random(4).floats(ROWS * K);
  const narrow = disguise(device, { bindingLimit: 16 * 128 * 4 });
  expect(differingRows(await run(narrow, x), await run(device, x))).toEqual([]);
});
