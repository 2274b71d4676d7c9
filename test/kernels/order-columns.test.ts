// Columns of activations in the order in which a matrix keeps its inputs.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { orderColumns } from '../../src/kernels/order-columns.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, Random } from './compute.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

async function expectOrdered(on: Device, rows: number, k: number, order: readonly number[]): Promise<void> {
  const x = new Random(rows + k).floats(rows * k);
  const tensor = on.tensor('step', 'order', [1, order.length], Uint32Array.from(order));
  const y = await compute({
    device: on,
    capacity: { rows: rows + 3 },
    sizes: { rows },
    record: (_, input) => orderColumns(input(['rows', k], withSpare(x, 3 * k)), tensor),
  });
  expect(y.length).toBe(rows);
  y.forEach((row, i) => expect([...row]).toEqual(order.map((column) => x[i * k + column])));
}

/** Rows beyond those of the step, which nothing may read. */
function withSpare(x: Float32Array, spare: number): Float32Array {
  const values = new Float32Array(x.length + spare).fill(NaN);
  values.set(x);
  return values;
}

it.each([
  [1, 32],
  [7, 96],
  [3, 100],
  [65, 288],
])('%i rows of %i columns', async (rows, k) => {
  const random = new Random(k);
  const columns = Math.ceil(k / 32) * 32;
  await expectOrdered(
    device,
    rows,
    k,
    random.permutation(columns).map((column) => column % k),
  );
});

it('several orders one after another', async () => {
  const random = new Random(5);
  await expectOrdered(device, 6, 64, [...random.permutation(64), ...random.permutation(64)]);
});

it('rows in bindings of 256 KiB', async () => {
  const narrow = disguise(device, { bindingLimit: 256 << 10 });
  await expectOrdered(narrow, 211, 544, new Random(6).permutation(544));
});

it('an order of whole groups of 32 columns', async () => {
  await expect(expectOrdered(device, 2, 40, new Random(7).permutation(40))).rejects.toThrow(
    'orderColumns: an order of 40 columns, which is not a multiple of 32',
  );
});
