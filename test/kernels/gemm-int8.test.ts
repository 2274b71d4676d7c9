// Products of many rows in 8 bits, against sums of the very integers; and bit by bit against each other, since a row of a prompt must not depend on
// the rows beside it.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { linear, linearAdd, linearSwiglu } from '../../src/kernels/matmul.ts';
import { interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { anyMatrix } from './any-matrix.ts';
import { compute, differingRows, Random, type Input } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';
import { packMatrix, weightsFor } from './packed.ts';
import { activations, roundedRows } from './rounded-rows.ts';
import { columnsOf } from './stored.ts';
import { worstOfColumns } from './worst-error.ts';

let device: Device;
let hardware: Device;
beforeAll(async () => {
  device = await openTestDevice();
  hardware = disguise(device, { profile: 'discrete', activations: 'int8', sharedTiles: 1 });
});
afterAll(() => device.destroy());

const ROWS = 70;
const TOLERANCE = 2e-6;

/** Rows `from` to `to` on a tape for `capacity` rows. */
function run(
  on: Device,
  matrix: Matrix,
  x: Float32Array,
  { capacity, from = 0, to = x.length / matrix.k }: { capacity: number; from?: number; to?: number },
  record: (x: Tensor, matrix: Matrix, input: Input) => Tensor = (of, by) => linear(of, by),
): Promise<Float32Array[]> {
  const values = x.subarray(from * matrix.k, to * matrix.k);
  return compute({
    device: on,
    capacity: { rows: capacity },
    sizes: { rows: to - from },
    record: (_, input) => record(input(['rows', matrix.k], values), matrix, input),
  });
}

/** Each way of laying codes and scales out. */
const NAMES = ['int8', 'int4', 'q5_1', 'q2_k', 'q5_k', 'q6_k', 'u8_32', 'affine8_32_bf16'] as const;

/** In tiles of 16 rows, which compile fastest. */
it.each(NAMES)('%s: sums are those of the integers', async (format) => {
  const [columns, k] = [64, 512];
  const random = new Random(format.length);
  const matrix = anyMatrix(hardware, format, columns, k, random);
  const x = activations(3, k, random);
  const y = await run(hardware, matrix, x, { capacity: 16 });
  expect(worstOfColumns(y, roundedRows(x, k), await columnsOf(hardware, matrix))).toBeLessThan(TOLERANCE);
});

it.each([
  ['int8', 197, 161],
  ['int4', 197, 161],
  ['q6_k', 160, 256],
] as const)(
  '%s, %s × %s: a row is right, and the same in tiles of 64, 32 and 16 rows',
  async (format, columns, k) => {
    const matrixOn = (on: Device): Matrix => {
      const own = new Random(k);
      if (format === 'q6_k') return anyMatrix(on, format, columns, k, own);
      const parts = stacked([{ name: 'w', rows: columns }]);
      return packMatrix(on, format, k, parts, weightsFor(format, columns, k, own));
    };
    const matrix = matrixOn(hardware);
    const weights = await columnsOf(hardware, matrix);
    const x = activations(ROWS, k, new Random(columns));
    const all = await run(hardware, matrix, x, { capacity: ROWS });
    expect(worstOfColumns(all, roundedRows(x, k), weights)).toBeLessThan(TOLERANCE);
    for (const rows of [32, 16, 1]) {
      const some = await run(hardware, matrix, x, { capacity: rows, from: ROWS - rows });
      expect(differingRows(some, all.slice(ROWS - rows))).toEqual([]);
    }
    if (format !== 'int4') return;
    // Pinned subgroups, and loads that are not ahead.
    const as = { profile: 'discrete', family: 'intel-xe-hpg', sharedTiles: 1, activations: 'int8' } as const;
    const family = disguise(device, as);
    expect(differingRows(await run(family, matrixOn(family), x, { capacity: ROWS }), all)).toEqual([]);
  },
);

it('a product adds to a residual, and multiplies gate and up', async () => {
  const [n, k] = [66, 70];
  const random = new Random(3);
  const weights = weightsFor('int8', 2 * n, k, random);
  const x = activations(5, k, random);
  const residual = random.floats(5 * 2 * n);
  const matrix = packMatrix(hardware, 'int8', k, stacked([{ name: 'w', rows: 2 * n }]), weights);
  const plain = await run(hardware, matrix, x, { capacity: 16 });
  const added = await run(hardware, matrix, x, { capacity: 16 }, (of, by, input) =>
    linearAdd(of, by, input(['rows', 2 * n], residual)),
  );
  const sums = plain.map((row, i) => row.map((value, at) => Math.fround(residual[i * 2 * n + at]! + value)));
  expect(differingRows(added, sums)).toEqual([]);
  const pair = packMatrix(hardware, 'int8', k, interleaved('gate', 'up', n), weights);
  const gated = await run(hardware, pair, x, { capacity: 16 }, linearSwiglu);
  gated.forEach((row, i) =>
    row.forEach((value, at) => {
      const gate = plain[i]![at]!;
      expectCloseTo(value, (gate / (1 + Math.exp(-gate))) * plain[i]![n + at]!, 4);
    }),
  );
});

it('windows of a matrix above the binding limit are multiplied', async () => {
  const [columns, k] = [401, 200];
  const narrow = disguise(device, {
    ...{ profile: 'discrete', activations: 'int8', sharedTiles: 1, bindingLimit: 64 << 10 },
  });
  const parts = stacked([{ name: 'w', rows: columns }]);
  const weights = weightsFor('int8', columns, k, new Random(7));
  const x = activations(ROWS, k, new Random(7));
  const cut = packMatrix(narrow, 'int8', k, parts, weights);
  expect(cut.windows.length).toBeGreaterThan(1);
  const whole = packMatrix(hardware, 'int8', k, parts, weights);
  const y = await run(narrow, cut, x, { capacity: ROWS });
  expect(differingRows(y, await run(hardware, whole, x, { capacity: ROWS }))).toEqual([]);
});
