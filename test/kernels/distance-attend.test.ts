import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { partialBatch, TILE_ROWS } from '../../src/kernels/batch.ts';
import { distanceAttend, placesWithin } from '../../src/kernels/distance-attend.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** The place of a distance, in the order of operations of the paper's code. */
function placeOf(distance: number, span: number, near: number, far: number | null): number {
  const length = Math.abs(distance);
  const steps =
    far === null || length <= near
      ? length
      : near + Math.ceil(Math.fround(Math.log(length / near) / Math.log(far / near)) * (near - 1));
  return Math.min(2 * span - 1, Math.max(0, span + Math.sign(distance) * steps));
}

it.each([
  { texts: [1], heads: 1, dims: 4, span: 8, near: 4, far: 15 },
  { texts: [37, 1, 70], heads: 3, dims: 20, span: 8, near: 4, far: 15 },
  { texts: [33, 5], heads: 2, dims: 64, span: 12, near: 6, far: null },
  { texts: [3, 2], heads: 1, dims: 128, span: 256, near: 128, far: 511 },
])('texts with learned distances: %o', async ({ texts, heads, dims, span, near, far }) => {
  const random = new Random(dims);
  const width = heads * dims;
  const rows = texts.reduce((sum, length) => sum + length);
  const x = random.floats(rows * 3 * width);
  const table = random.floats(2 * span * 2 * width);
  const starts = texts.map((_, i) => texts.slice(0, i).reduce((sum, length) => sum + length, 0));
  const tiles = texts.flatMap((length, i) =>
    Array.from({ length: Math.ceil(length / TILE_ROWS) }, (_, n) => {
      const start = n * TILE_ROWS;
      return [starts[i]! + start, Math.min(TILE_ROWS, length - start), 0, start, length - 1];
    }),
  );
  const places = { span, near, far };
  const { first, count } = placesWithin(places, Math.max(...texts));
  const sizes = { rows, tiles: tiles.length, tileRows: TILE_ROWS };
  const region = upload(device, new Uint32Array(tiles.flat()));
  const y = await compute({
    device,
    capacity: sizes,
    sizes,
    record: (_, input) =>
      distanceAttend(
        input(['rows', 3 * width], x),
        input([count, 2 * width], table.slice(first * 2 * width, (first + count) * 2 * width)),
        first,
        partialBatch(region, { tiles: region, spans: true }),
        { heads, dims, scale: 0.3, places },
      ),
  });
  expect(y.length).toBe(rows);
  texts.forEach((length, i) => {
    const at = (token: number, part: number, d: number): number =>
      x[(starts[i]! + token) * 3 * width + part * width + d]!;
    for (let query = 0; query < length; query++)
      for (let head = 0; head < heads; head++) {
        const weights = Array.from({ length }, (_, key) => {
          const place = placeOf(query - key, span, near, far) * 2 * width;
          let sum = 0;
          for (let d = head * dims; d < (head + 1) * dims; d++)
            sum +=
              at(query, 0, d) * (at(key, 1, d) + table[place + width + d]!) +
              at(key, 1, d) * table[place + d]!;
          return Math.exp(0.3 * sum);
        });
        const total = weights.reduce((a, b) => a + b);
        for (let d = head * dims; d < (head + 1) * dims; d++) {
          const right = weights.reduce((sum, weight, key) => sum + (weight / total) * at(key, 2, d), 0);
          expectCloseTo(y[starts[i]! + query]![d], right, 4);
        }
      }
  });
});
