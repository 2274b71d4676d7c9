import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { rowWindows } from '../../src/kernels/row-windows.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const SHAPES = [
  { items: 1, rows: 1, columns: 1, taps: 3, step: 1 },
  { items: 2, rows: 37, columns: 5, taps: 3, step: 2 },
  { items: 3, rows: 130, columns: 33, taps: 3, step: 2 },
  { items: 1, rows: 131, columns: 40, taps: 5, step: 1 },
  { items: 2, rows: 133, columns: 33, taps: 7, step: 3, isPadded: false },
  { items: 1, rows: 40, columns: 3, taps: 4, step: 2, isPadded: false },
];

it.each(SHAPES.flatMap((shape) => [undefined, 16 << 10].map((bindingLimit) => ({ ...shape, bindingLimit }))))(
  'rows in windows: %j',
  async ({ items, rows, columns, taps, step, isPadded = true, bindingLimit }) => {
    const x = new Random(columns).floats(items * rows * columns);
    const found = await compute({
      device: bindingLimit === undefined ? device : disguise(device, { bindingLimit }),
      capacity: {},
      sizes: {},
      record: (_, input) => rowWindows(input([items, rows, columns], x), { taps, step, isPadded }),
    });
    const windows = isPadded ? Math.ceil(rows / step) : Math.floor((rows - taps) / step) + 1;
    const before = isPadded ? (taps - 1) / 2 : 0;
    expect(found).toHaveLength(items * windows);
    const wanted = Array.from({ length: items * windows }, (_, row) =>
      Array.from({ length: columns * taps }, (_value, place) => {
        const source = (row % windows) * step + (place % taps) - before;
        if (source < 0 || source >= rows) return 0;
        return x[(Math.floor(row / windows) * rows + source) * columns + Math.floor(place / taps)]!;
      }),
    );
    expect(found.map((row) => Array.from(row))).toEqual(wanted);
  },
);
