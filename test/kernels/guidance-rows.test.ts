import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { guidanceRows } from '../../src/kernels/guidance-rows.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random, upload } from './compute.ts';

const SCALE = 4.5;
const TOLERANCE = 4e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1],
  [37, 16],
  [70, 133],
])('%i tokens of %i columns keep the length of the positive prediction', async (tokens, columns) => {
  const random = new Random(columns);
  const [positive, negative] = [random.floats(tokens * columns), random.floats(tokens * columns)];
  const run = (on: Device) =>
    compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) =>
        guidanceRows(
          input([1, tokens, columns], positive),
          input([1, tokens, columns], negative),
          upload(on, Float32Array.of(7, SCALE)),
          1,
        ),
    });
  const found = await run(device);
  expect(found.length).toBe(tokens);
  found.forEach((row, i) => {
    const of = (values: Float32Array) => values.subarray(i * columns, (i + 1) * columns);
    const guided = Array.from(of(positive), (p, k) => of(negative)[k]! + SCALE * (p - of(negative)[k]!));
    const rate = Math.hypot(...of(positive)) / Math.hypot(...guided);
    row.forEach((value, k) => {
      const wanted = guided[k]! * rate;
      expect(Math.abs(value - wanted)).toBeLessThan(TOLERANCE * (1 + Math.abs(guided[k]! * rate)));
    });
  });
  const pieces = await run(disguise(device, { bindingLimit: 16 << 10 }));
  expect(differingRows(pieces, found)).toEqual([]);
});
