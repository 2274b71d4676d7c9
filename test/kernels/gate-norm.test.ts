// Gates and norms of groups of columns against f64: gates before norms, behind them and alone, few columns and as many as GPUs divide.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { gateNorm } from '../../src/kernels/gate-norm.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const EPS = 1e-6;
const ROWS = 3;
const FIRST = 8;

it.each([
  { groups: 3, dims: 4, normed: true, gateFirst: true, factor: 1 },
  { groups: 2, dims: 132, normed: true, gateFirst: false, factor: 0.5 },
  { groups: 1, dims: 1300, normed: true, gateFirst: true, factor: 2 },
  { groups: 1, dims: 36, normed: false, gateFirst: true, factor: 0.5 },
])('%o', async ({ groups, dims, normed, gateFirst, factor }) => {
  const random = new Random(dims);
  const columns = groups * dims;
  const x = random.floats(ROWS * columns);
  const gates = random.floats(ROWS * (FIRST + columns)).map((gate) => 9 * gate);
  gates[FIRST] = -200;
  const weight = random.floats(columns);
  for (const profile of ['cpu', 'discrete'] as const) {
    const on = disguise(device, { profile });
    const y = await compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) =>
        gateNorm(
          input([ROWS, columns], x),
          normed ? on.tensor('weights', 'norm', [columns], weight) : null,
          { x: input([ROWS, FIRST + columns], gates), first: FIRST },
          { groups, eps: EPS, gateFirst, factor },
        ),
    });
    for (const [row, values] of y.entries()) {
      for (let group = 0; group < groups; group++) {
        const silu = (d: number): number => {
          const z = factor * gates[row * (FIRST + columns) + FIRST + group * dims + d]!;
          return z / (1 + Math.exp(-z));
        };
        const own = Float64Array.from(x.subarray(row * columns + group * dims).subarray(0, dims));
        const gated = gateFirst ? own.map((value, d) => value * silu(d)) : own;
        const length = Math.sqrt(gated.reduce((sum, value) => sum + value * value, 0) / dims + EPS);
        own.forEach((value, d) => {
          const scaled = normed ? (value / length) * weight[group * dims + d]! : value;
          expectBelow(Math.abs(values[group * dims + d]! - scaled * silu(d)), 2e-5);
        });
      }
    }
  }
});

it('gates that end before the last column are a mistake of the caller', async () => {
  const made = compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => {
      const x = input([1, 16], new Float32Array(16));
      return gateNorm(x, null, { x, first: 4 }, { groups: 2, eps: EPS });
    },
  });
  await expect(made).rejects.toThrow('gateNorm: groups of 8 in 16 columns, gates from 4 on of 16');
});
