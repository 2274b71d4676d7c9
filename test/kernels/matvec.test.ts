// Products of decode rows with matrices of every format, as GPUs compute them, against sums in f64; and bit by bit against each other, since a
// request's tokens must not depend on how many rows run beside it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { FORMATS, type FormatName } from '../../src/kernels/formats.ts';
import { linear, linearAdd, linearSwiglu } from '../../src/kernels/matmul.ts';
import { allocateMatrix, interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { anyMatrix } from './any-matrix.ts';
import { compute, differingRows, Random, type Input } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';
import { packMatrix, weightsFor } from './packed.ts';
import { columnsOf } from './stored.ts';
import { worstOfColumns } from './worst-error.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const NAMES = Object.keys(FORMATS) as FormatName[];

/** Rows `from` to `to` of x on a tape for `capacity` decode rows. */
function product(
  on: Device,
  matrix: Matrix,
  x: Float32Array,
  { capacity, from = 0, to = x.length / matrix.k }: { capacity: number; from?: number; to?: number },
  record: (x: Tensor, matrix: Matrix, input: Input) => Tensor = (rows, weight) => linear(rows, weight),
): Promise<Float32Array[]> {
  const values = x.subarray(from * matrix.k, to * matrix.k);
  return compute({
    ...{ device: on, capacity: { rows: capacity }, sizes: { rows: to - from }, decodes: ['rows'] },
    record: (_, input) => record(input(['rows', matrix.k], values), matrix, input),
  });
}

const TOLERANCE = 1e-6;
/** A tile of GPUs has eight rows, which a software adapter compiles for many seconds. */
const [ONE, TWO, EIGHT] = [1, 2, 8].map((matvecRows): Disguise => ({ profile: 'discrete', matvecRows }));

it.each(NAMES)('%s: sums are right', async (format) => {
  const on = disguise(device, ONE!);
  const [columns, k] = [32, 768];
  const random = new Random(format.length);
  const matrix = anyMatrix(on, format, columns, k, random);
  const x = random.floats(2 * k);
  const y = await product(on, matrix, x, { capacity: 2 });
  expect(worstOfColumns(y, x, await columnsOf(on, matrix))).toBeLessThan(TOLERANCE);
});

it.each(['fp4_64', 'mxfp4'] as const)(
  '%s: rows of prompts multiply by the very weights, too',
  async (format) => {
    const on = disguise(device, ONE!);
    const [columns, k, rows] = [32, 256, 16];
    const matrix = anyMatrix(on, format, columns, k, new Random(format.length));
    const weights = await columnsOf(on, matrix);
    const chosen = Array.from({ length: rows }, (_, row) => (row * 53 + 3) % k);
    const x = new Float32Array(rows * k);
    chosen.forEach((at, row) => (x[row * k + at] = 1));
    const y = await compute({
      ...{ device: on, capacity: { rows }, sizes: { rows } },
      record: (_, input) => linear(input(['rows', k], x), matrix),
    });
    const wanted = chosen.map((at) => Float32Array.from(weights, (weight) => weight[at]! + 0)); // -0 + 0 is 0
    expect(differingRows(y, wanted)).toEqual([]);
  },
);

/** 2, 4 and 8 packs a block; 8 slices of K up to 992, 16 up to 2,016, then 32. */
const SHAPES = [
  ['q2_k', 96, 768],
  ['int4', 67, 33],
  ['int4', 67, 1100],
  ['f16', 7, 2100],
  ['f16', 1, 1],
] as const;

/** One matrix on devices with tiles of these rows. */
function matricesOf(
  format: FormatName,
  columns: number,
  k: number,
  tiles: readonly Disguise[],
): [Device, Matrix][] {
  return tiles.map((as) => {
    const on = disguise(device, as);
    const random = new Random(columns + k);
    if (FORMATS[format].packing === 'stored') return [on, anyMatrix(on, format, columns, k, random)];
    const parts = stacked([{ name: 'w', rows: columns }]);
    return [on, packMatrix(on, format, k, parts, weightsFor(format, columns, k, random))];
  });
}

it.each(SHAPES)('%s, %s × %s: a row is right, and the same in any company', async (format, columns, k) => {
  const [two, one] = matricesOf(format, columns, k, [TWO!, ONE!]);
  const x = new Random(k).floats(64 * k);
  const all = await product(...two!, x, { capacity: 64 });
  expect(worstOfColumns(all, x, await columnsOf(...two!))).toBeLessThan(TOLERANCE);
  for (const [on, capacity, from, to] of [
    [two!, 1, 63, 64],
    [two!, 4, 7, 10],
    [two!, 16, 20, 33],
    [two!, 64, 5, 52],
    [one!, 16, 0, 16],
  ] as const)
    expect(differingRows(await product(...on, x, { capacity, from, to }), all.slice(from, to))).toEqual([]);
});

it('tiles of four and of eight rows sum like tiles of one', async () => {
  const k = 1100;
  const [one, eight] = matricesOf('f16', 67, k, [ONE!, EIGHT!]);
  const x = new Random(k).floats(21 * k);
  const all = await product(...one!, x, { capacity: 32 });
  expect(differingRows(await product(...eight!, x, { capacity: 32 }), all)).toEqual([]);
  const few = await product(...eight!, x, { capacity: 4, from: 3, to: 6 });
  expect(differingRows(few, all.slice(3, 6))).toEqual([]);
});

describe('the ends of a product', () => {
  /** The same product of rows of a prompt, and of decode rows. */
  async function both(
    record: (x: Tensor, matrix: Matrix, input: Input) => Tensor,
    matrixOn: (on: Device) => Matrix,
    as: Disguise = {},
  ): Promise<[Float32Array[], Float32Array[]]> {
    const on = disguise(device, { ...TWO!, ...as });
    const matrix = matrixOn(on);
    const x = new Random(3).floats(5 * matrix.k);
    const prompts = await compute({
      ...{ device: on, capacity: { rows: 16 }, sizes: { rows: 5 } },
      record: (_, input) => record(input(['rows', matrix.k], x), matrix, input),
    });
    return [prompts, await product(on, matrix, x, { capacity: 16 }, record)];
  }

  function expectClose([a, b]: [Float32Array[], Float32Array[]]): void {
    expect(differingRows(a, b)).not.toEqual([]); // two kernels
    a.forEach((row, i) => row.forEach((value, at) => expectCloseTo(b[i]![at], value, 3)));
  }

  it('a bias and an activation', async () => {
    const matrixOn = (on: Device): Matrix => {
      const random = new Random(5);
      const matrix = packMatrix(on, 'f32', 330, stacked([{ name: 'w', rows: 67 }]), random.floats(67 * 330));
      matrix.bias = on.tensor('weights', 'bias', [67], random.floats(67));
      return matrix;
    };
    expectClose(await both((x, matrix) => linear(x, matrix, { activation: 'silu' }), matrixOn));
  });

  it('a residual, in windows of 64 KiB', async () => {
    const residual = new Random(9).floats(5 * 67);
    const matrixOn = (on: Device): Matrix => {
      const matrix = packMatrix(
        on,
        'f32',
        330,
        stacked([{ name: 'w', rows: 67 }]),
        new Random(5).floats(67 * 330),
      );
      expect(matrix.windows.length).toBeGreaterThan(1);
      return matrix;
    };
    const record = (x: Tensor, matrix: Matrix, input: Input): Tensor =>
      linearAdd(x, matrix, input(['rows', 67], residual));
    expectClose(await both(record, matrixOn, { bindingLimit: 64 << 10 }));
  });

  it('gate and up', async () => {
    const matrixOn = (on: Device): Matrix =>
      packMatrix(on, 'f32', 330, interleaved('gate', 'up', 33), new Random(5).floats(66 * 330));
    expectClose(await both(linearSwiglu, matrixOn));
  });
});

it('rows of prompts and the reference path have other kernels', () => {
  const on = disguise(device, TWO!);
  const matrix = allocateMatrix(on, FORMATS.f32, 64, stacked([{ name: 'w', rows: 32 }]));
  const shaders = (decodes: string[], plain = false): (string | undefined)[] => {
    const tape = new Tape(on, { rows: 4, sampled: 2 }, { decodes, plain });
    linear(tape.tensor(['rows', 64]), matrix);
    linear(tape.tensor(['sampled', 64]), matrix);
    tape.finish();
    const names = tape.encodables({ rows: 4, sampled: 2 }).map(({ name }) => name);
    tape.destroy();
    return names;
  };
  expect(shaders(['rows', 'sampled'])).toEqual(['matvec.wgsl', 'matvec.wgsl']);
  expect(shaders(['sampled'])).toEqual(['gemm.wgsl', 'matvec.wgsl']);
  expect(shaders([])).toEqual(['gemm.wgsl', 'gemm.wgsl']);
  expect(shaders(['rows', 'sampled'], true)).not.toContain('matvec.wgsl');
});
