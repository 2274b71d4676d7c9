import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { mixRows } from '../../src/kernels/mix-rows.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const SHAPES = [
  { from: 1, rows: 1, taps: 1, columns: 1 },
  { from: 7, rows: 67, taps: 3, columns: 33 },
  { from: 25, rows: 130, taps: 16, columns: 100 },
];

it.each(SHAPES.flatMap((shape) => [undefined, 16 << 10].map((bindingLimit) => ({ ...shape, bindingLimit }))))(
  'mixed rows of %j',
  async ({ from, rows, taps, columns, bindingLimit }) => {
    const random = new Random(columns);
    const x = random.floats(from * columns);
    const shares = random.floats(rows * taps);
    const sources = Uint32Array.from({ length: rows * taps }, (_, i) => (i * 7) % from);
    const found = await compute({
      device: bindingLimit === undefined ? device : disguise(device, { bindingLimit }),
      capacity: {},
      sizes: {},
      record: (_, input) =>
        mixRows(
          input([from, columns], x),
          input([rows, taps], new Float32Array(sources.buffer)),
          input([rows, taps], shares),
        ),
    });
    expect(found).toHaveLength(rows);
    found.forEach((row, i) => {
      row.forEach((value, column) => {
        let sum = 0;
        for (let tap = i * taps; tap < (i + 1) * taps; tap++)
          sum += shares[tap]! * x[sources[tap]! * columns + column]!;
        expectBelow(Math.abs(value - sum), 1e-5);
      });
    });
  },
);
