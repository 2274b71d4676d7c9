// Products of many rows on matrix units, whose fragments lanes compute here: against sums in f64 of what f16 keeps of x and of the weights, and
// bit by bit against each other.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { MatrixUnit } from '../../src/gpu/matrix-units.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { linear, linearSwiglu } from '../../src/kernels/matmul.ts';
import { interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { disguise, hasF16, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { packMatrix, weightsFor } from './packed.ts';
import { columnsOf, packStored, randomBlocks } from './stored.ts';
import { worstError } from './worst-error.ts';

const USUAL: MatrixUnit = { rows: 16, columns: 16, depth: 16, subgroup: 32, pinned: false, emulated: true };

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const ROWS = 70;

/** `sharedTiles` 1: the largest tiles that there are rows for; left out: the smallest. */
function withUnit(matrixUnit: MatrixUnit, as: Disguise = {}): Device {
  return disguise(device, { profile: 'discrete', portable: true, matrixUnit, ...as });
}

interface Product {
  matrix: Matrix;
  x: Float32Array;
  record?: (x: Tensor, matrix: Matrix) => Tensor;
}

/** Rows `from` to `to` on a tape for `capacity` rows. */
function run(
  on: Device,
  { matrix, x, record = (of, by) => linear(of, by) }: Product,
  { capacity = ROWS, from = 0, to = ROWS }: { capacity?: number; from?: number; to?: number } = {},
): Promise<Float32Array[]> {
  const values = x.subarray(from * matrix.k, to * matrix.k);
  return compute({
    device: on,
    capacity: { rows: capacity },
    sizes: { rows: to - from },
    record: (_, input) => record(input(['rows', matrix.k], values), matrix),
  });
}

/** Multiples of 2⁻⁷ below 1, which f16 holds. */
function halves(count: number, random: Random): Float32Array {
  return Float32Array.from({ length: count }, () => (random.integer(255) - 127) / 128);
}

const parts = (rows: number) => stacked([{ name: 'w', rows }]);

describe.skipIf(!(await hasF16()))('a product on matrix units of an adapter with f16', () => {
  it('a row is right, and the same in tiles of 64 and of 32 rows', async () => {
    const [n, k] = [197, 161];
    const random = new Random(n + k);
    const weights = weightsFor('int4', n, k, random);
    const on = withUnit(USUAL, { sharedTiles: 1 });
    const matrix = packMatrix(on, 'int4', k, parts(n), weights);
    const x = halves(ROWS * k, random);
    const all = await run(on, { matrix, x });
    expect(worstError(all, x, weights, k)).toBeLessThan(1e-6);
    for (const rows of [17, 1]) {
      const some = await run(on, { matrix, x }, { capacity: rows, from: ROWS - rows });
      expect(differingRows(some, all.slice(ROWS - rows))).toEqual([]);
    }
  });

  it("has the fragments of Intel's units", async () => {
    const [n, k] = [130, 70];
    const random = new Random(n);
    const weights = weightsFor('f16', n, k, random);
    const on = withUnit({ ...USUAL, rows: 8, columns: 8, subgroup: 8 }, { family: 'intel-xe-hpg' });
    const matrix = packMatrix(on, 'f16', k, parts(n), weights);
    const x = halves(ROWS * k, random);
    expect(worstError(await run(on, { matrix, x }), x, weights, k)).toBeLessThan(1e-6);
  });

  it("has those of Apple's, reads packs of sixteen k's, and rounds x and weights to f16", async () => {
    const [n, k] = [67, 512];
    const random = new Random(k);
    const of = randomBlocks('q2_k', n, k, random);
    const x = random.floats(ROWS * k);
    const on = withUnit({ ...USUAL, rows: 8, columns: 8, depth: 8 });
    const y = await run(on, { matrix: packStored(on, 'q2_k', of), x });
    const weights = await columnsOf(device, packStored(device, 'q2_k', of));
    const error = worstError(y, x, Float32Array.from(weights.flatMap((column) => [...column])), k);
    expect(error).toBeLessThan(2 ** -11);
    expect(error).toBeGreaterThan(2 ** -18);
  });

  it('windows of a matrix make the same columns as the whole', async () => {
    const [n, k] = [401, 200];
    const random = new Random(7);
    const weights = weightsFor('f32', n, k, random);
    const x = random.floats(ROWS * k);
    const [whole, narrow] = [withUnit(USUAL), withUnit(USUAL, { bindingLimit: 256 << 10 })];
    const cut = packMatrix(narrow, 'f32', k, parts(n), weights);
    expect(cut.windows.length).toBeGreaterThan(1);
    const matrix = packMatrix(whole, 'f32', k, parts(n), weights);
    const y = await run(whole, { matrix, x });
    expect(differingRows(await run(narrow, { matrix: cut, x }), y)).toEqual([]);
    expect(worstError(y, x, weights, k)).toBeLessThan(2 ** -10);
  });

  it('rows beyond f16 and far below it are as exact as others, and weights beyond it make finite results', async () => {
    const [n, k] = [66, 70];
    const random = new Random(3);
    const weights = weightsFor('f32', n, k, random);
    weights.fill(1e7, 0, k);
    const x = random.floats(ROWS * k);
    const factors = [2 ** 100, 2 ** 40, 2 ** -40, 2 ** -100];
    const scaled = x.map((value, i) => value * factors[Math.floor(i / k) % 4]!);
    const on = withUnit(USUAL);
    const matrix = packMatrix(on, 'f32', k, parts(n), weights);
    const [usual, far] = [await run(on, { matrix, x }), await run(on, { matrix, x: scaled })];
    const expected = usual.map((row, i) => row.map((value) => value * factors[i % 4]!));
    expect(differingRows(far, expected)).toEqual([]);
    expect(far.every((row) => row.every(Number.isFinite))).toBe(true);
    expect(new Set(usual.map(([first]) => first)).size).toBeGreaterThan(ROWS / 2);
    const none = await run(on, { matrix, x: new Float32Array(ROWS * k) });
    expect(none.every((row) => row.every((value) => value === 0))).toBe(true);
  });

  it('multiplies gate and up', async () => {
    const [n, k] = [66, 70];
    const random = new Random(5);
    const weights = weightsFor('f32', 2 * n, k, random);
    const x = random.floats(ROWS * k);
    const on = withUnit(USUAL);
    const plain = await run(on, { matrix: packMatrix(on, 'f32', k, parts(2 * n), weights), x });
    const matrix = packMatrix(on, 'f32', k, interleaved('gate', 'up', n), weights);
    const gated = await run(on, { matrix, x, record: linearSwiglu });
    gated.forEach((row, i) =>
      row.forEach((value, at) => {
        const gate = plain[i]![at]!;
        expectBelow(Math.abs(value - (gate / (1 + Math.exp(-gate))) * plain[i]![n + at]!), 1e-5);
      }),
    );
  });
});
