// Projections brought to the size of a row, as streams and as their mean, against f64; one of them is almost zero.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { meanOfStreams, streamsOf } from '../../src/kernels/stream-match.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  ['cpu', 3, 32, undefined],
  ['discrete', 3, 288, undefined],
  ['discrete', 37, 32, 10 << 10],
] as const)('%s: %i rows of %i columns, bindings of %s bytes', async (profile, rows, columns, limit) => {
  const random = new Random(columns);
  const like = random.floats(rows * 4 * columns);
  const others = random.floats(rows * 3 * columns);
  others.subarray(0, columns).forEach((value, i, row) => (row[i] = 1e-4 * value));
  /** Rows of the q-th projection. */
  const projection = (q: number): Float32Array =>
    others.subarray(q * rows * columns, (q + 1) * rows * columns);
  const rms = (row: Float32Array): number =>
    Math.sqrt(row.reduce((sum, value) => sum + value * value, 0) / columns);
  const on = disguise(device, { profile, ...(limit && { bindingLimit: limit }) });
  for (const mean of [false, true]) {
    const width = mean ? 4 * columns : columns;
    const y = await compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) => {
        const projections = [0, 1, 2].map((q) => input([rows, columns], projection(q)));
        return mean
          ? meanOfStreams(input([rows, width], like), projections)
          : streamsOf(input([rows, width], like.subarray(0, rows * width)), projections);
      },
    });
    y.forEach((values, row) => {
      const first = like.subarray(row * width, row * width + columns);
      const streams = [0, 1, 2, 3].map((q) => {
        if (q === 0) return first;
        const own = projection(q - 1).subarray(row * columns, (row + 1) * columns);
        return own.map((value) => (value * rms(first)) / Math.sqrt(Math.max(rms(own) ** 2, 1e-5)));
      });
      values.forEach((value, at) => {
        const i = at % columns;
        const wanted = mean
          ? streams.reduce((sum, stream) => sum + stream[i]!, 0) / 4
          : streams[Math.floor(at / columns)]![i]!;
        expectBelow(Math.abs(value - wanted), 1e-5);
      });
    });
  }
});

it('projections of other columns are a mistake of the caller', async () => {
  const made = compute({
    device,
    capacity: {},
    sizes: {},
    record: (_, input) =>
      streamsOf(input([1, 64], new Float32Array(64)), [input([1, 32], new Float32Array(32))]),
  });
  await expect(made).rejects.toThrow('streams: projections of 32 columns beside 64');
});
