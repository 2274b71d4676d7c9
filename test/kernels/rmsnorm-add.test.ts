import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { rmsnormAdd } from '../../src/kernels/rmsnorm-add.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

const EPS = 1e-5;
const ITEMS = 2;
const TOKENS = 35;
/** Tolerance for sums of two values around 1. */
const TOLERANCE = 4e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  ['cpu', 1],
  ['cpu', 31],
  ['cpu', 64],
  ['cpu', 129],
  ['discrete', 129],
] as const)('profile %s: %i columns', async (profile, columns) => {
  const random = new Random(columns);
  const chunk = Math.ceil(columns / 4) * 4;
  const x = random.floats(ITEMS * TOKENS * columns);
  const residual = random.floats(ITEMS * TOKENS * columns);
  const gates = random.floats(ITEMS * 2 * chunk).map((value) => 20 * value);
  const weight = random.floats(columns);
  const run = (on: Device, gated: boolean, scalar: number | null) =>
    compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) =>
        rmsnormAdd(
          input([ITEMS, TOKENS, columns], x),
          on.tensor('weights', 'weight', [columns], weight),
          EPS,
          gated ? { x: input([ITEMS, 2 * chunk], gates), first: chunk } : null,
          input([ITEMS, TOKENS, columns], residual),
          scalar === null ? null : on.tensor('weights', 'scalar', [1], Float32Array.of(scalar)),
        ),
    });
  for (const [gated, scalar] of [
    [true, null],
    [false, null],
    [false, 0.375],
  ] as const) {
    const found = await run(disguise(device, { profile }), gated, scalar);
    expect(found.length).toBe(ITEMS * TOKENS);
    found.forEach((row, i) => {
      const values = x.subarray(i * columns, (i + 1) * columns);
      const rate = 1 / Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / columns + EPS);
      const item = Math.floor(i / TOKENS);
      row.forEach((value, k) => {
        const gate = gated ? Math.tanh(gates[(2 * item + 1) * chunk + k]!) : 1;
        const sum = residual[i * columns + k]! + gate * values[k]! * rate * weight[k]!;
        const wanted = (scalar ?? 1) * sum;
        expectBelow(Math.abs(value - wanted), TOLERANCE);
      });
    });
    const pieces = await run(disguise(device, { profile, bindingLimit: 16 << 10 }), gated, scalar);
    expect(differingRows(pieces, found)).toEqual([]);
  }
});
