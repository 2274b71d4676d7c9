// Products of many rows as GPUs compute them, against sums in f64; and bit by bit against each other, since a row of a prompt must not depend
// on the rows beside it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import type { FormatName } from '../../src/kernels/formats.ts';
import { usesGemm } from '../../src/kernels/gemm.ts';
import { linear, linearAdd, linearSwiglu } from '../../src/kernels/matmul.ts';
import { interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { compute, differingRows, Random, type Input } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { packMatrix, weightsFor } from './packed.ts';
import { worstError } from './worst-error.ts';

let device: Device;
let hardware: Device;
beforeAll(async () => {
  device = await openTestDevice();
  hardware = disguise(device, { profile: 'discrete', portable: true, sharedTiles: 1 });
});
afterAll(() => device.destroy());

const ROWS = 70;

interface Product {
  matrix: Matrix;
  x: Float32Array;
  record?: (x: Tensor, matrix: Matrix, input: Input) => Tensor;
}

/** Rows `from` to `to` on a tape for `capacity` rows. */
function run(
  on: Device,
  { matrix, x, record = (of, by) => linear(of, by) }: Product,
  { capacity, from = 0, to = ROWS }: { capacity: number; from?: number; to?: number },
): Promise<Float32Array[]> {
  const values = x.subarray(from * matrix.k, to * matrix.k);
  return compute({
    device: on,
    capacity: { rows: capacity },
    sizes: { rows: to - from },
    record: (_, input) => record(input(['rows', matrix.k], values), matrix, input),
  });
}

describe.each(['f32', 'f16', 'int8', 'int4'] satisfies FormatName[])('%s', (format) => {
  it('a row is right, and the same in tiles of 64, 32 and 16 rows', async () => {
    const [n, k] = [197, 161];
    const random = new Random(n + k);
    const weights = weightsFor(format, n, k, random);
    const matrix = packMatrix(hardware, format, k, stacked([{ name: 'w', rows: n }]), weights);
    const x = random.floats(ROWS * k);
    const all = await run(hardware, { matrix, x }, { capacity: ROWS });
    expect(worstError(all, x, weights, k)).toBeLessThan(2e-6);
    for (const rows of [32, 16, 1]) {
      const some = await run(hardware, { matrix, x }, { capacity: rows, from: ROWS - rows });
      expect(differingRows(some, all.slice(ROWS - rows))).toEqual([]);
    }
    const many = disguise(device, { profile: 'discrete', portable: true });
    const again = packMatrix(many, format, k, stacked([{ name: 'w', rows: n }]), weights);
    expect(differingRows(await run(many, { matrix: again, x }, { capacity: ROWS }), all)).toEqual([]);
    if (format !== 'int4') return;
    // Pinned subgroups, and loads that are not ahead.
    const family = disguise(device, { profile: 'discrete', family: 'intel-xe-hpg', sharedTiles: 1 });
    const own = packMatrix(family, format, k, stacked([{ name: 'w', rows: n }]), weights);
    expect(family.capabilities.subgroupSize).toBe(device.summary.subgroupMinSize);
    expect(differingRows(await run(family, { matrix: own, x }, { capacity: ROWS }), all)).toEqual([]);
  });
});

it('a product adds to a residual, and multiplies gate and up', async () => {
  const [n, k] = [66, 70];
  const random = new Random(3);
  const weights = weightsFor('f32', 2 * n, k, random);
  const x = random.floats(ROWS * k);
  const residual = random.floats(ROWS * 2 * n);
  const matrix = packMatrix(hardware, 'f32', k, stacked([{ name: 'w', rows: 2 * n }]), weights);
  const plain = await run(hardware, { matrix, x }, { capacity: ROWS });
  const added = await run(
    hardware,
    { matrix, x, record: (of, by, input) => linearAdd(of, by, input(['rows', 2 * n], residual)) },
    { capacity: ROWS },
  );
  const sums = plain.map((row, i) => row.map((value, at) => Math.fround(residual[i * 2 * n + at]! + value)));
  expect(differingRows(added, sums)).toEqual([]);

  const pair = packMatrix(hardware, 'f32', k, interleaved('gate', 'up', n), weights);
  const gated = await run(hardware, { matrix: pair, x, record: linearSwiglu }, { capacity: ROWS });
  gated.forEach((row, i) =>
    row.forEach((value, at) => {
      const gate = plain[i]![at]!;
      expectBelow(Math.abs(value - (gate / (1 + Math.exp(-gate))) * plain[i]![n + at]!), 1e-5);
    }),
  );
});

it('windows of a matrix above the binding limit are multiplied', async () => {
  const [n, k] = [401, 200];
  const narrow = disguise(device, {
    profile: 'discrete',
    portable: true,
    sharedTiles: 1,
    bindingLimit: 256 << 10,
  });
  const random = new Random(7);
  const weights = weightsFor('f32', n, k, random);
  const x = random.floats(ROWS * k);
  const parts = stacked([{ name: 'w', rows: n }]);
  const cut = packMatrix(narrow, 'f32', k, parts, weights);
  expect(cut.windows.length).toBeGreaterThan(1);
  const whole = packMatrix(hardware, 'f32', k, parts, weights);
  const y = await run(narrow, { matrix: cut, x }, { capacity: ROWS });
  expect(differingRows(y, await run(hardware, { matrix: whole, x }, { capacity: ROWS }))).toEqual([]);
});

it.each([1, 4, 20])('rows of items of %i are the same however many items there are', async (tokens) => {
  const [n, k, items] = [40, 96, 17];
  const random = new Random(tokens);
  const matrix = packMatrix(
    hardware,
    'f16',
    k,
    stacked([{ name: 'w', rows: n }]),
    weightsFor('f16', n, k, random),
  );
  const x = random.floats(items * tokens * k);
  const tiled = new Set<boolean>();
  const product = (count: number): Promise<Float32Array[]> =>
    compute({
      device: hardware,
      capacity: {},
      sizes: {},
      record(_, input) {
        const rows = input([count, tokens, k], x.subarray(0, count * tokens * k));
        tiled.add(usesGemm(rows));
        return linear(rows, matrix);
      },
    });
  expect(differingRows(await product(1), (await product(items)).slice(0, tokens))).toEqual([]);
  expect([...tiled]).toEqual([tokens >= 16]);
});
