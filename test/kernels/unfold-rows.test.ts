import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { partialBatch, TILE_ROWS } from '../../src/kernels/batch.ts';
import { unfoldRows } from '../../src/kernels/unfold-rows.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { compute, Random, upload } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  { texts: [1], columns: 1, taps: 3 },
  { texts: [37, 1, 70, 2], columns: 33, taps: 3 },
  { texts: [5, 48], columns: 64, taps: 5 },
  { texts: [20], columns: 100, taps: 1 },
])('rows of texts with those around them: %o', async ({ texts, columns, taps }) => {
  const rows = texts.reduce((sum, length) => sum + length);
  const x = new Random(columns).floats(rows * columns);
  const starts = texts.map((_, i) => texts.slice(0, i).reduce((sum, length) => sum + length, 0));
  const tiles = texts.flatMap((length, i) =>
    Array.from({ length: Math.ceil(length / TILE_ROWS) }, (_, n) => {
      const start = n * TILE_ROWS;
      return [starts[i]! + start, Math.min(TILE_ROWS, length - start), 0, start, length - 1];
    }),
  );
  const sizes = { rows, tiles: tiles.length, tileRows: TILE_ROWS };
  const region = upload(device, new Uint32Array(tiles.flat()));
  const y = await compute({
    device,
    capacity: sizes,
    sizes,
    record: (_, input) =>
      unfoldRows(input(['rows', columns], x), partialBatch(region, { tiles: region, spans: true }), taps),
  });
  const wanted = texts.flatMap((length, text) =>
    Array.from({ length }, (_, token) =>
      Array.from({ length: columns * taps }, (__, i) => {
        const source = token + (i % taps) - Math.floor(taps / 2);
        return source < 0 || source >= length
          ? 0
          : x[(starts[text]! + source) * columns + Math.floor(i / taps)]!;
      }),
    ),
  );
  expect(y.map((row) => Array.from(row))).toEqual(wanted);
});

it('rows of texts whose ends are not known are refused, and taps without a middle', () => {
  const at = (spans: boolean, taps: number) => () =>
    unfoldRows({} as never, { tiles: {} as never, spans }, taps);
  expect(at(false, 3)).toThrow('do not know the ends of their text');
  expect(at(true, 4)).toThrow('4 taps have none in the middle');
});
