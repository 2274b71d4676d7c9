// Mixes of streams against f64: few columns and as many as GPUs divide among lanes.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { streamPredict } from '../../src/kernels/stream-predict.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { routerCase } from './stream-kernels.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  ['cpu', 3, 32, undefined],
  ['discrete', 3, 288, undefined],
  ['discrete', 37, 32, 10 << 10],
] as const)('%s: %i rows of %i columns, bindings of %s bytes', async (profile, rows, columns, limit) => {
  const random = new Random(columns);
  const x = random.floats(rows * 4 * columns);
  const factors = random.floats(16 * 4);
  const stream = (row: number, p: number): Float32Array =>
    x.subarray((4 * row + p) * columns, (4 * row + p + 1) * columns);
  const on = disguise(device, { profile, ...(limit && { bindingLimit: limit }) });
  const { router, routes } = routerCase(on, random, columns);
  for (const output of ['leading', 'streams'] as const) {
    const y = await compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) => {
        const streams = input([rows, 4 * columns], x);
        const leading = streamPredict(streams, router, on.tensor('weights', 'f', [16, 4], factors));
        return output === 'leading' ? leading : streams;
      },
    });
    y.forEach((values, row) => {
      const own = routes(stream(row, 0));
      values.forEach((value, at) => {
        const [q, i] = [Math.floor(at / columns), at % columns];
        const mixed = [0, 1, 2, 3].reduce((sum, p) => {
          const factor = own.reduce((all, route, r) => all + route * factors[4 * (4 * q + p) + r]!, 0);
          return sum + factor * stream(row, p)[i]!;
        }, stream(row, q)[i]!);
        expectBelow(Math.abs(value - mixed), 2e-5);
      });
    });
  }
});

it('streams that fill no whole blocks of columns are a mistake of the caller', async () => {
  const { router } = routerCase(device, new Random(1), 4);
  const made = compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) => {
      const streams = input([1, 16], new Float32Array(16));
      return streamPredict(streams, router, device.tensor('weights', 'f', [16, 4], new Float32Array(64)));
    },
  });
  await expect(made).rejects.toThrow('streams of 4 columns: a multiple of 32 is wanted');
});
