// What a layer changed of the first stream, added to all, against f64.

import { afterAll, beforeAll, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { streamCorrect } from '../../src/kernels/stream-correct.ts';
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
  const layer = random.floats(rows * columns);
  const factors = random.floats(4 * 4);
  const gain = random.floats(columns);
  const on = disguise(device, { profile, ...(limit && { bindingLimit: limit }) });
  const { router, routes } = routerCase(on, random, columns);
  for (const output of ['scaled', 'streams'] as const) {
    const y = await compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) => {
        const streams = input([rows, 4 * columns], x);
        const tables = [
          on.tensor('weights', 'f', [4, 4], factors),
          on.tensor('weights', 'g', [columns], gain),
        ];
        const scaled = streamCorrect(streams, input([rows, columns], layer), router, tables[0]!, tables[1]!);
        return output === 'scaled' ? scaled : streams;
      },
    });
    y.forEach((values, row) => {
      const own = layer.subarray(row * columns, (row + 1) * columns);
      const given = routes(own);
      values.forEach((value, at) => {
        const [q, i] = [Math.floor(at / columns), at % columns];
        const factor = given.reduce((all, route, r) => all + route * factors[4 * q + r]!, 1);
        const change = own[i]! - x[4 * row * columns + i]!;
        const wanted = x[(4 * row + q) * columns + i]! + factor * change;
        expectBelow(Math.abs(value - (output === 'scaled' ? wanted * gain[i]! : wanted)), 2e-5);
      });
    });
  }
});
