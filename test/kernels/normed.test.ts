// Products of decode rows that apply the RMSNorm of their input, as GPUs compute them: against sums in f64, bit by bit against each other in any
// company, and the cases in which the norm has a dispatch of its own.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { FORMATS, type FormatName } from '../../src/kernels/formats.ts';
import { linear, linearAdd } from '../../src/kernels/matmul.ts';
import { allocateMatrix, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { normed, rowsOf, type Rows } from '../../src/kernels/normed.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, differingRows, Random, type Input } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';
import { packMatrix, weightsFor } from './packed.ts';
import { columnsOf } from './stored.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const EPS = 1e-3;
const [TWO, FOUR] = [2, 4].map((matvecRows): Disguise => ({ profile: 'discrete', matvecRows }));

interface Product {
  on: Device;
  matrix: Matrix;
  x: Float32Array;
  gain: Float32Array;
}

type Record = (x: Rows, matrix: Matrix, input: Input) => Tensor;

function problem(format: FormatName, columns: number, k: number, as: Disguise, rows = 12): Product {
  const on = disguise(device, as);
  const parts = stacked([{ name: 'w', rows: columns }]);
  const matrix = packMatrix(on, format, k, parts, weightsFor(format, columns, k, new Random(columns + k)));
  // Rows whose sizes differ by orders of magnitude.
  const x = new Random(k).floats(rows * k).map((value, i) => value * 2 ** ((Math.floor(i / k) % 9) - 4));
  return { on, matrix, x, gain: new Random(k + 1).floats(k) };
}

/** The product of rows `from` to `to` under the norm, on a tape for `capacity` decode rows. */
function product(
  { on, matrix, x, gain }: Product,
  { capacity, from = 0, to = x.length / matrix.k }: { capacity: number; from?: number; to?: number },
  record: Record = (rows, weight) => linear(rows, weight),
): Promise<Float32Array[]> {
  const { k } = matrix;
  const weight = on.tensor('weights', 'gain', [k], gain);
  return compute({
    ...{ device: on, capacity: { rows: capacity }, sizes: { rows: to - from }, decodes: ['rows'] },
    record: (_, input) =>
      record(normed(input(['rows', k], x.subarray(from * k, to * k)), weight, EPS), matrix, input),
  });
}

/** The largest error of the product, as a share of the sum of its terms' sizes. */
async function worstError(y: Float32Array[], { on, matrix, x, gain }: Product): Promise<number> {
  const weights = await columnsOf(on, matrix);
  let worst = 0;
  y.forEach((sums, row) => {
    const values = Array.from(x.subarray(row * matrix.k, (row + 1) * matrix.k));
    const rate = 1 / Math.sqrt(values.reduce((sum, v) => sum + v * v, 0) / matrix.k + EPS);
    weights.forEach((weight, column) => {
      const terms = values.map((value, i) => value * rate * gain[i]! * weight[i]!);
      const sum = terms.reduce((total, term) => total + term, 0);
      const size = terms.reduce((total, term) => total + Math.abs(term), 0);
      const error = size === 0 ? 0 : Math.abs(sums[column]! - sum) / size;
      worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
    });
  });
  return worst;
}

// Tiles of two rows with 8 slices of K, most of them without a block; of four with 32, whose sums workgroup memory holds in two turns.
it.each([
  ['int4', 67, 33, TWO!],
  ['int4', 7, 2100, FOUR!],
] as const)('%s, %i × %i: a row is right, and the same in any company', async (format, columns, k, as) => {
  const of = problem(format, columns, k, as);
  const all = await product(of, { capacity: 64 });
  expect(await worstError(all, of)).toBeLessThan(1e-6);
  for (const [capacity, from, to] of [
    [1, 11, 12],
    [4, 7, 10],
    [16, 2, 11],
  ] as const)
    expect(differingRows(await product(of, { capacity, from, to }), all.slice(from, to))).toEqual([]);
});

it('a product of normed rows ends as others do, and has the result of rows that were normed before', async () => {
  const of = problem('f32', 67, 330, { ...TWO!, bindingLimit: 64 << 10 });
  expect(of.matrix.windows.length).toBeGreaterThan(1);
  of.matrix.bias = of.on.tensor('weights', 'bias', [67], new Random(5).floats(67));
  const residual = new Random(9).floats(12 * 67);
  const record: Record = (x, matrix, input) => linearAdd(x, matrix, input(['rows', 67], residual));
  const own = await product(of, { capacity: 32 }, record);
  const before = await product(of, { capacity: 32 }, (rows, ...rest) => record(rowsOf(rows), ...rest));
  expect(differingRows(own, before)).not.toEqual([]); // the squares are summed in another order
  own.forEach((row, i) => row.forEach((value, at) => expectCloseTo(value, before[i]![at]!, 3)));
});

describe('dispatches', () => {
  /** Names of what a recording dispatches for x [rows, 64]. */
  function dispatched(
    record: (x: Tensor, weight: Tensor) => void,
    options: { decodes?: string[]; plain?: boolean } = { decodes: ['rows'] },
    rows = 4,
  ): string[] {
    const on = disguise(device, TWO!);
    const tape = new Tape(on, { rows }, options);
    const x = tape.tensor(['rows', 64]);
    record(x, on.tensor('weights', 'gain', [64], new Float32Array(64)));
    tape.finish();
    const names = tape.encodables({ rows }).map(({ name }) => name);
    tape.destroy();
    return names;
  }
  const matrixOf = (rows: number, form: { orders?: readonly string[] } = {}): Matrix =>
    allocateMatrix(disguise(device, TWO!), FORMATS.f32, 64, stacked([{ name: 'w', rows }]), form);

  it('a norm has none in a step of few decode rows, and one for many, for rows of prompts and for other readers', () => {
    const matrix = matrixOf(32);
    const both = (x: Tensor, weight: Tensor): void => {
      const rows = normed(x, weight, EPS);
      linear(rows, matrix);
      linear(rows, matrix);
    };
    expect(dispatched(both)).toEqual(['matvec.wgsl', 'matvec.wgsl']);
    expect(dispatched(both, { decodes: ['rows'] }, 16)).toEqual([
      'normed.wgsl',
      'matvec.wgsl',
      'matvec.wgsl',
    ]);
    expect(dispatched(both, {})).toEqual(['rmsnorm.wgsl', 'gemm.wgsl', 'gemm.wgsl']);
    expect(dispatched(both, { plain: true, decodes: ['rows'] })[0]).toBe('rmsnorm.wgsl');
    const others = (x: Tensor, weight: Tensor): void => {
      const rows = normed(x, weight, EPS);
      expect(rowsOf(rows)).toBe(rowsOf(rows));
      linear(rows, matrix);
    };
    expect(dispatched(others)).toEqual(['rmsnorm.wgsl', 'matvec.wgsl']);
  });

  it('rows whose k are gathered in another order are normed before', () => {
    const matrix = matrixOf(32, { orders: ['w.g_idx'] });
    matrix.order!.place(disguise(device, TWO!).tensor('weights', 'order', [64], new Uint32Array(64)).region!);
    expect(dispatched((x, weight) => void linear(normed(x, weight, EPS), matrix))).toEqual([
      'rmsnorm.wgsl',
      'order-columns.wgsl',
      'matvec.wgsl',
    ]);
  });

  it('a norm that is read after its rows have changed is a mistake of the caller', () => {
    const matrix = matrixOf(32);
    const square = matrixOf(64);
    const late = (read: (rows: Rows) => void) => (x: Tensor, weight: Tensor) => {
      const rows = normed(x, weight, EPS);
      const y = linear(rows, square);
      linearAdd(y, square, x);
      expect(() => read(rows)).toThrow('a norm of [rows, 64] is read after a kernel has changed its rows');
    };
    dispatched(late((rows) => void linear(rows, matrix)));
    dispatched(late((rows) => void rowsOf(rows)));
  });
});
