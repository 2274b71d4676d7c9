// Projections brought to the size of a row, as streams and as their mean, against f64; one of them is almost zero.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { meanOfStreams, streamsOf } from '../../src/kernels/stream-match.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const ROWS = 3;

it.each([
  ['cpu', 32],
  ['discrete', 288],
] as const)('profile %s: %i columns', async (profile, columns) => {
  const random = new Random(columns);
  const like = random.floats(ROWS * 4 * columns);
  const others = random.floats(ROWS * 3 * columns);
  others.subarray(0, columns).forEach((value, i, row) => (row[i] = 1e-4 * value));
  /** Rows of the q-th projection. */
  const projection = (q: number): Float32Array =>
    others.subarray(q * ROWS * columns, (q + 1) * ROWS * columns);
  const rms = (row: Float32Array): number =>
    Math.sqrt(row.reduce((sum, value) => sum + value * value, 0) / columns);
  const on = disguise(device, { profile });
  for (const mean of [false, true]) {
    const width = mean ? 4 * columns : columns;
    const y = await compute({
      device: on,
      capacity: {},
      sizes: {},
      record: (_, input) => {
        const projections = [0, 1, 2].map((q) => input([ROWS, columns], projection(q)));
        return mean
          ? meanOfStreams(input([ROWS, width], like), projections)
          : streamsOf(input([ROWS, width], like.subarray(0, ROWS * width)), projections);
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
        expect(Math.abs(value - wanted)).toBeLessThan(1e-5);
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
