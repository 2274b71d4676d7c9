// Products of decode rows in 8 bits of integer codes, against sums of the very integers; and bit by bit against each other, since
// a request's tokens must not depend on how many rows run beside it.

import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { Tape } from '../../src/gpu/tape.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { FORMATS, type FormatName } from '../../src/kernels/formats.ts';
import { linear, linearAdd, linearSwiglu } from '../../src/kernels/matmul.ts';
import { allocateMatrix, interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { normed } from '../../src/kernels/normed.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { anyMatrix } from './any-matrix.ts';
import { compute, differingRows, Random, type Input } from './compute.ts';
import { expectCloseTo } from './expect-each.ts';
import { packMatrix, weightsFor } from './packed.ts';
import { activations, roundedRows } from './rounded-rows.ts';
import { columnsOf } from './stored.ts';
import { worstOfColumns } from './worst-error.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Each way of laying codes and scales out. */
const NAMES: readonly FormatName[] = [
  ...(['int8', 'int4', 'q8_0', 'q4_1', 'q5_0', 'q2_k', 'q3_k', 'q4_k', 'q6_k'] as const),
  ...(['u4_64', 'u8_128', 'i8_32', 'affine4_128_bf16', 'affine8_64_f16'] as const),
];

const [ONE, TWO] = [1, 2].map((matvecRows): Disguise => ({
  ...{ profile: 'discrete', activations: 'int8', matvecRows },
}));

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

const TOLERANCE = 2e-6;

it.each(NAMES)('%s: sums are those of the integers', async (format) => {
  const on = disguise(device, ONE!);
  const [columns, k] = [32, 768];
  const random = new Random(format.length);
  const matrix = anyMatrix(on, format, columns, k, random);
  const x = activations(2, k, random);
  const y = await product(on, matrix, x, { capacity: 2 });
  expect(worstOfColumns(y, roundedRows(x, k), await columnsOf(on, matrix))).toBeLessThan(TOLERANCE);
});

/** 8 packs a block, then 2 with two scales; one and three slices' worth of K. */
it.each([
  ['int8', 67, 33],
  ['int4', 67, 1100],
  ['q2_k', 96, 768],
] as const)('%s, %s × %s: a row is right, and the same in any company', async (format, columns, k) => {
  const [two, one] = [TWO, ONE].map((as): [Device, Matrix] => {
    const on = disguise(device, as!);
    const random = new Random(columns + k);
    if (FORMATS[format].packing === 'stored') return [on, anyMatrix(on, format, columns, k, random)];
    const parts = stacked([{ name: 'w', rows: columns }]);
    return [on, packMatrix(on, format, k, parts, weightsFor(format, columns, k, random))];
  });
  const x = activations(40, k, new Random(k));
  const all = await product(...two!, x, { capacity: 64 });
  expect(worstOfColumns(all, roundedRows(x, k), await columnsOf(...two!))).toBeLessThan(TOLERANCE);
  for (const [on, capacity, from, to] of [
    [two!, 1, 39, 40],
    [two!, 4, 7, 10],
    [two!, 16, 20, 33],
    [one!, 16, 0, 16],
  ] as const)
    expect(differingRows(await product(...on, x, { capacity, from, to }), all.slice(from, to))).toEqual([]);
});

it('a residual, and gate and up, end a product', async () => {
  const on = disguise(device, TWO!);
  const [n, k] = [34, 96];
  const random = new Random(3);
  const weights = weightsFor('int8', 2 * n, k, random);
  const x = activations(5, k, random);
  const residual = random.floats(5 * 2 * n);
  const matrix = packMatrix(on, 'int8', k, stacked([{ name: 'w', rows: 2 * n }]), weights);
  const plain = await product(on, matrix, x, { capacity: 16 });
  const added = await product(on, matrix, x, { capacity: 16 }, (of, by, input) =>
    linearAdd(of, by, input(['rows', 2 * n], residual)),
  );
  const sums = plain.map((row, i) => row.map((value, at) => Math.fround(residual[i * 2 * n + at]! + value)));
  expect(differingRows(added, sums)).toEqual([]);
  const pair = packMatrix(on, 'int8', k, interleaved('gate', 'up', n), weights);
  const gated = await product(on, pair, x, { capacity: 16 }, linearSwiglu);
  gated.forEach((row, i) =>
    row.forEach((value, at) => {
      const gate = plain[i]![at]!;
      expectCloseTo(value, (gate / (1 + Math.exp(-gate))) * plain[i]![n + at]!, 4);
    }),
  );
});

it('formats of integer codes are those with a file in shaders/integers', () => {
  const files = readdirSync(new URL('../../shaders/integers/', import.meta.url));
  const names = Object.values(FORMATS)
    .filter(({ integers }) => integers)
    .map(({ name }) => `${name}.wgsl`);
  expect(files.sort()).toEqual(names.sort());
});

it('only products of integer codes are those of integers', () => {
  const on = disguise(device, TWO!);
  const gain = on.tensor('weights', 'gain', [256], new Float32Array(256));
  const shaders = (
    format: FormatName,
    decodes: string[],
    { plain = false, isNormed = false } = {},
  ): (string | undefined)[] => {
    const matrix = allocateMatrix(on, FORMATS[format], 256, stacked([{ name: 'w', rows: 32 }]));
    const tape = new Tape(on, { rows: 4 }, { decodes, plain });
    const x = tape.tensor(['rows', 256]);
    linear(isNormed ? normed(x, gain, 1e-5) : x, matrix);
    tape.finish();
    const names = tape.encodables({ rows: 4 }).map(({ name }) => name);
    tape.destroy();
    return names;
  };
  expect(shaders('q4_k', ['rows'])).toEqual(['quantize-rows.wgsl', 'matvec-int8.wgsl']);
  expect(shaders('q4_k', [])).toEqual(['quantize-rows.wgsl', 'gemm-int8.wgsl']);
  for (const format of ['f16', 'nf4_64', 'mxfp4', 'iq4_nl', 'e4m3'] as const)
    expect(shaders(format, ['rows'])).toEqual(['matvec.wgsl']);
  expect(shaders('q4_k', ['rows'], { plain: true })).toEqual(['matmul.wgsl']);
  // Decode rows are normed and rounded at once.
  expect(shaders('q4_k', ['rows'], { isNormed: true })).toEqual(['quantize-normed.wgsl', 'matvec-int8.wgsl']);
  expect(shaders('f16', ['rows'], { isNormed: true })).toEqual(['matvec.wgsl']);
});
