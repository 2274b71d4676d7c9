import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { addTable } from '../../src/kernels/add-table.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { Random } from './compute.ts';
import { computeImages } from './images.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

it.each([
  [1, 1, 1, false],
  [2, 6, 36, false],
  [3, 2, 37, true],
])('%i items, a table of %i × %i, repeated: %s', async (items, rows, columns, repeats) => {
  const random = new Random(columns);
  const given = repeats ? columns : rows * columns;
  const [x, table] = [random.floats(items * given), random.floats(rows * columns)];
  const found = await computeImages(device, (input) =>
    addTable(input([items, given], x), device.tensor('weights', 'table', [rows, columns], table)),
  );
  expect(found.length).toBe(items);
  found.forEach((row, item) =>
    expect([...row]).toEqual(
      Array.from(table, (value, i) => Math.fround(x[item * given + (i % given)]! + value)),
    ),
  );
});

it('other columns are refused with the shapes', async () => {
  const record = computeImages(device, (input) =>
    addTable(input([1, 5], new Float32Array(5)), device.tensor('weights', 't', [2, 4], new Float32Array(8))),
  );
  await expect(record).rejects.toThrow('[1, 5] and [2, 4]');
});
