// Matmuls of every format, epilogue and variant against sums in f64; and bit by bit against each other, since a request's
// tokens must not depend on how many rows run beside it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { linear, linearAdd, linearSwiglu } from '../../src/kernels/matmul.ts';
import { type FormatName as Format } from '../../src/kernels/formats.ts';
import { interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, differingRows, Random } from './compute.ts';
import { packMatrix, weightsFor } from './packed.ts';

const FORMATS: Format[] = ['f32', 'f16', 'bf16', 'int8', 'int4'];
const STORES = ['none', 'add', 'swiglu'] as const;
type Store = (typeof STORES)[number];

/** Outputs (of gate and of up each, for swiglu) and inputs: one, primes, just over a group and a block. */
const SHAPES = [
  [1, 1],
  [7, 33],
  [64, 32],
  [67, 97],
  [129, 61],
] as const;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

interface Problem {
  format: Format;
  store: Store;
  hasBias: boolean;
  n: number;
  k: number;
  rows: number;
  x: Float32Array;
  weights: Float32Array;
  bias: Float32Array;
  residual: Float32Array;
  matrix: Matrix;
}

interface Wanted {
  format?: Format;
  store?: Store;
  hasBias?: boolean;
  n: number;
  k: number;
  rows: number;
}

function problem(
  on: Device,
  { format = 'f32', store = 'none', hasBias = false, n, k, rows }: Wanted,
): Problem {
  const random = new Random(n * 1000 + k);
  const columns = store === 'swiglu' ? 2 * n : n;
  const weights = weightsFor(format, columns, k, random);
  const bias = random.floats(columns);
  const parts = store === 'swiglu' ? interleaved('gate', 'up', n) : stacked([{ name: 'w', rows: n }]);
  const matrix = packMatrix(on, format, k, parts, weights);
  if (hasBias) {
    const placed = new Float32Array(columns + 2); // an odd last row of `up` is placed one column further
    bias.forEach((value, i) => (placed[store === 'swiglu' ? interleavedAt(i, n) : i] = value));
    matrix.bias = on.tensor('weights', 'bias', [columns + 2], placed);
  }
  const x = random.floats(rows * k);
  const residual = random.floats(rows * n);
  return { format, store, hasBias, n, k, rows, x, weights, bias, residual, matrix };
}

/** Returns the column of row i when gate rows alternate with up rows. */
function interleavedAt(i: number, n: number): number {
  const row = i % n;
  return 4 * Math.floor(row / 2) + (row % 2) + (i >= n ? 2 : 0);
}

/** Rows `from` to `to` of a problem, on a tape for `capacity` rows. */
function run(
  on: Device,
  of: Problem,
  capacity: number,
  from = 0,
  to: number = of.rows,
): Promise<Float32Array[]> {
  return compute({
    device: on,
    capacity: { rows: capacity },
    sizes: { rows: to - from },
    record(_, input): Tensor {
      const x = input(['rows', of.k], of.x.subarray(from * of.k, to * of.k));
      if (of.store === 'none') return linear(x, of.matrix);
      if (of.store === 'swiglu') return linearSwiglu(x, of.matrix);
      return linearAdd(x, of.matrix, input(['rows', of.n], of.residual.subarray(from * of.n, to * of.n)));
    },
  });
}

/** The dot product of a row and a column, and the sum of its terms' sizes, by which rounding is measured. */
function dot(of: Problem, row: number, column: number): { sum: number; size: number } {
  let sum = of.hasBias ? of.bias[column]! : 0;
  let size = Math.abs(sum);
  for (let i = 0; i < of.k; i++) {
    const term = of.x[row * of.k + i]! * of.weights[column * of.k + i]!;
    sum += term;
    size += Math.abs(term);
  }
  return { sum, size };
}

/** Rounding of at most a few ulp of the largest partial sum. */
const ROUNDING = 2e-6;

/** Returns the largest error in units of the tolerance. */
function worstError(of: Problem, y: Float32Array[]): number {
  let worst = 0;
  for (let row = 0; row < of.rows; row++) {
    for (let column = 0; column < of.n; column++) {
      let { sum, size } = dot(of, row, column);
      if (of.store === 'add') {
        sum += of.residual[row * of.n + column]!;
        size += 1;
      }
      if (of.store === 'swiglu') {
        const up = dot(of, row, of.n + column);
        const gated = sum / (1 + Math.exp(-sum));
        // silu's slope is at most 1.1; exp is off by up to 3 + 2 |x| ulp.
        size = 1.1 * size * Math.abs(up.sum) + Math.abs(gated) * (up.size + Math.abs(sum * up.sum));
        sum = gated * up.sum;
      }
      const error = Math.abs(y[row]![column]! - sum) / (ROUNDING * (size + 0.01));
      worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
    }
  }
  return worst;
}

describe('the adapter as it is', () => {
  it.each(FORMATS)('%s', async (format) => {
    for (const [n, k] of SHAPES) {
      const of = problem(device, { format, n, k, rows: 5 });
      expect(worstError(of, await run(device, of, 16))).toBeLessThan(1);
      expect(worstError(of, await run(device, of, 5))).toBeLessThan(1);
    }
  });

  for (const store of STORES) {
    it.each([false, true])(`${store}, bias %s`, async (hasBias) => {
      for (const [n, k] of SHAPES) {
        const of = problem(device, { store, hasBias, n, k, rows: 5 });
        expect(worstError(of, await run(device, of, 16))).toBeLessThan(1);
        expect(worstError(of, await run(device, of, 5))).toBeLessThan(1);
      }
    });
  }
});

interface VariantTest {
  name: string;
  as: Disguise;
  formats: Format[];
  /** Inputs, and the largest capacity to run them in. */
  shapes: { k: number; capacity: number }[];
}

const USUAL = [
  { k: 97, capacity: 48 },
  { k: 530, capacity: 48 },
];
/** 2 and 8 parts. A software adapter compiles their barriers for seconds, so not every format is tested with them. */
const SPLIT = [
  { k: 130, capacity: 48 },
  { k: 530, capacity: 4 },
];
const VARIANTS: VariantTest[] = [
  { name: 'the adapter as it is', as: {}, formats: FORMATS, shapes: USUAL },
  { name: 'subgroups of four', as: { lanes: 4 }, formats: ['f32', 'int4'], shapes: USUAL },
  { name: 'no subgroups', as: { portable: true }, formats: ['f32', 'int4'], shapes: USUAL },
  { name: 'K split', as: { profile: 'discrete', deterministic: true }, formats: ['f16'], shapes: SPLIT },
  {
    name: 'K split, no subgroups',
    as: { profile: 'discrete', deterministic: true, portable: true },
    formats: ['f16'],
    shapes: SPLIT,
  },
  {
    name: 'K split, wide subgroups',
    as: { profile: 'discrete', deterministic: true, largestSubgroup: 64 },
    formats: ['int8'],
    shapes: SPLIT.slice(1),
  },
];

for (const { name, as, formats, shapes } of VARIANTS) {
  it.each(formats)(`${name}: a row is right, and the same in any company: %s`, async (format) => {
    const on = disguise(device, as);
    for (const { k, capacity } of shapes) {
      const of = problem(on, { format, n: 131, k, rows: Math.ceil(capacity * 0.77) });
      const all = await run(on, of, capacity);
      expect(worstError(of, all)).toBeLessThan(1);
      for (const rows of [16, 4, 1].filter((rows) => rows < capacity)) {
        for (const from of new Set([0, of.rows - rows])) {
          const some = await run(on, of, rows, from, from + rows);
          expect(differingRows(some, all.slice(from, from + rows))).toEqual([]);
        }
      }
    }
  });
}

it('subgroups of eight, of four and none sum alike', async () => {
  const sums = (on: Device) => run(on, problem(on, { format: 'int4', n: 131, k: 530, rows: 5 }), 16);
  const wide = await sums(device);
  for (const as of [{ lanes: 4 }, { portable: true }]) {
    expect(differingRows(await sums(disguise(device, as)), wide)).toEqual([]);
  }
});

describe('windows of 256 KiB', () => {
  for (const store of STORES) {
    it(store, async () => {
      const narrow = disguise(device, { bindingLimit: 256 << 10 });
      const wanted = { store, hasBias: true, n: 401, k: 200, rows: 5 };
      const cut = problem(narrow, wanted);
      expect(cut.matrix.windows.length).toBeGreaterThan(1);
      const y = await run(narrow, cut, 16);
      expect(worstError(cut, y)).toBeLessThan(1);
      expect(differingRows(y, await run(device, problem(device, wanted), 16))).toEqual([]);
      expect(differingRows(await run(narrow, cut, 1, 3, 4), [y[3]!])).toEqual([]);
    });
  }
});

it.each([1, 2, 3, 5, 16, 17, 35])('%i rows, written in whole tiles', async (rows) => {
  const of = problem(device, { n: 67, k: 97, rows });
  expect(worstError(of, await run(device, of, rows))).toBeLessThan(1);
});

describe('operands that do not fit together', () => {
  it('are refused by an assertion with the numbers in it', async () => {
    const of = problem(device, { n: 7, k: 33, rows: 5 });
    await expect(run(device, { ...of, k: 32 }, 16)).rejects.toThrow(/x has 32 columns, the weight 33/);
  });
});
