import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { addRows } from '../../src/kernels/add-rows.ts';
import { copy } from '../../src/kernels/copy-rows.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const SHAPES = [
  { items: 1, rows: 1, table: 1, columns: 1 },
  { items: 3, rows: 37, table: 40, columns: 33 },
  { items: 2, rows: 67, table: 67, columns: 40 },
];

it.each(SHAPES.flatMap((shape) => [undefined, 16 << 10].map((bindingLimit) => ({ ...shape, bindingLimit }))))(
  'added rows of %j',
  async ({ items, rows, table, columns, bindingLimit }) => {
    const random = new Random(columns);
    const x = random.floats(items * rows * columns);
    const places = random.floats(table * columns);
    const found = await compute({
      device: bindingLimit === undefined ? device : disguise(device, { bindingLimit }),
      capacity: {},
      sizes: {},
      record: (_, input) => addRows(copy(input([items, rows, columns], x)), input([table, columns], places)),
    });
    expect(found).toHaveLength(items * rows);
    found.forEach((row, at) =>
      row.forEach((value, column) => {
        const sum = x[at * columns + column]! + places[(at % rows) * columns + column]!;
        expect(value).toBe(Math.fround(sum));
      }),
    );
  },
);
