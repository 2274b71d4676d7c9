import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { gatedAdd } from '../../src/kernels/gated-add.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const ITEMS = 2;
const TOKENS = 35;
/** Tolerance for sums of two values around 1. */
const TOLERANCE = 1e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([1, 31, 64, 129])('%i columns', async (columns) => {
  const random = new Random(columns);
  const chunk = Math.ceil(columns / 4) * 4;
  const x = random.floats(ITEMS * TOKENS * columns);
  const residual = random.floats(ITEMS * TOKENS * columns);
  const gates = random.floats(ITEMS * 2 * chunk);
  const run = (on: Device) =>
    compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) =>
        gatedAdd(
          input([ITEMS, TOKENS, columns], x),
          { x: input([ITEMS, 2 * chunk], gates), first: chunk },
          input([ITEMS, TOKENS, columns], residual),
        ),
    });
  const found = await run(device);
  expect(found.length).toBe(ITEMS * TOKENS);
  found.forEach((row, i) => {
    const item = Math.floor(i / TOKENS);
    row.forEach((value, k) => {
      const at = i * columns + k;
      const wanted = residual[at]! + gates[(2 * item + 1) * chunk + k]! * x[at]!;
      expectBelow(Math.abs(value - wanted), TOLERANCE);
    });
  });
  const pieces = await run(disguise(device, { bindingLimit: 16 << 10 }));
  expect(differingRows(pieces, found)).toEqual([]);
});
