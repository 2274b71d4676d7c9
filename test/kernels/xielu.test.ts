// xIELU against f64, with parameters as numbers and as tensors: odd numbers of columns, both signs, large and tiny values.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { xielu } from '../../src/kernels/xielu.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const EPS = -1e-6;
const softplus = (v: number) => Math.log1p(Math.exp(v));

it.each([
  [1, 1, 'numbers'],
  [3, 257, 'tensors'],
  [2, 1031, 'numbers'],
  [5, 64, 'tensors'],
] as const)('%i × %i with %s', async (rows, columns, from) => {
  const [positive, negative, beta] = [0.2, -1.3, 0.5];
  const scales = [1e-4, 1, 6, 40];
  const x = new Random(columns).floats(rows * columns).map((value, i) => value * scales[i % 4]!);
  const tensor = (value: number) => device.tensor('weights', 'parameter', [1], Float32Array.of(value));
  const y = await compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => {
      const own =
        from === 'numbers'
          ? { positive, negative }
          : { positive: tensor(positive), negative: tensor(negative) };
      return xielu(input([rows, columns], x), { ...own, beta, eps: EPS });
    },
  });
  expect(y).toHaveLength(rows);
  for (const [row, values] of y.entries()) {
    for (const [column, value] of [...values].entries()) {
      const v = x[row * columns + column]!;
      const bent = (beta + softplus(negative)) * (Math.expm1(Math.min(v, EPS)) - v);
      const wanted = beta * v + (v >= 0 ? softplus(positive) * v * v : bent);
      expectBelow(Math.abs(value - wanted), 1e-6 * Math.max(1, Math.abs(wanted)));
    }
  }
});
