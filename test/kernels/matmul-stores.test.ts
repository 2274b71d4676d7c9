// How a matmul's sums end: activations, gated pairs, strips of rows. Formats and variants of the sum itself are matmul.test.ts's.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Tensor } from '../../src/gpu/tensor.ts';
import { activation, type Activation } from '../../src/kernels/activation.ts';
import { linear, linearAdd, linearGeglu } from '../../src/kernels/matmul.ts';
import { interleavedHalves, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, differingRows, Random, type Input } from './compute.ts';
import { expectBelow } from './expect-each.ts';
import { packMatrix } from './packed.ts';

/** Tolerance relative to the sum of the terms' magnitudes; the slopes of gelu and silu are at most 1.13. */
const TOLERANCE = 3e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** erf by its series, and by its continued fraction where that converges sooner. */
function erf(x: number): number {
  const a = Math.abs(x);
  if (a > 3) {
    let fraction = 0;
    for (let n = 60; n > 0; n--) fraction = n / 2 / (a + fraction);
    return Math.sign(x) * (1 - Math.exp(-a * a) / ((a + fraction) * Math.sqrt(Math.PI)));
  }
  let [sum, term] = [a, a];
  for (let n = 1; n < 60; n++) {
    term *= (-a * a) / n;
    sum += term / (2 * n + 1);
  }
  return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
}

const FUNCTIONS: Record<Activation, (x: number) => number> = {
  silu: (x) => x / (1 + Math.exp(-x)),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  'gelu-tanh': (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  'quick-gelu': (x) => x / (1 + Math.exp(-1.702 * x)),
  relu: (x) => Math.max(x, 0),
  'relu-squared': (x) => Math.max(x, 0) ** 2,
  tanh: Math.tanh,
};
const NAMES = Object.keys(FUNCTIONS) as Activation[];

describe.each(NAMES)('the activation %s of a product', (name) => {
  it('is right from end to end', async () => {
    const random = new Random(7);
    const small = [0, 1e-30, 1e-3, 0.927, 0.928, 1.3119, 3, 4, 5.7, 9, 12, 44, 87, 89, 1000, 1e18];
    const values = Float32Array.from([
      ...small.flatMap((value) => [value, -value]),
      ...Array.from({ length: 3000 }, () => 12 * (random.next() - 0.5)),
    ]);
    const y = await compute({
      device,
      capacity: {},
      sizes: {},
      record: (_, input) => activation(input([values.length / 2, 2], values), name),
    });
    y.flatMap((row) => [...row]).forEach((value, i) => {
      const x = values[i]!;
      // Where 1 + erf or 1 - exp cancels, the error is a few ulp of the larger term.
      const wanted = FUNCTIONS[name](x);
      const error = Math.abs(value - wanted) / Math.max(Math.abs(x), Math.abs(wanted), 1);
      if (!(error < 3e-7)) expect(error, `at ${x}`).toBeLessThan(3e-7);
    });
  });
});

interface Problem {
  k: number;
  rows: number;
  x: Float32Array;
  weights: Float32Array;
  bias: Float32Array;
  matrix: Matrix;
}

function problem(on: Device, rows: number, columns: number, k: number, paired = false): Problem {
  const random = new Random(columns * 100 + k);
  const weights = random.floats(columns * k);
  const bias = random.floats(columns);
  const parts = paired ? interleavedHalves('w', columns / 2) : stacked([{ name: 'w', rows: columns }]);
  const matrix = paired ? packHalves(on, k, weights, columns / 2) : packMatrix(on, 'f32', k, parts, weights);
  const placed = new Float32Array(columns + 2);
  bias.forEach((value, i) => (placed[paired ? pairedAt(i, columns / 2) : i] = value));
  matrix.bias = on.tensor('weights', 'bias', [columns + 2], placed);
  return { k, rows, x: random.floats(rows * k), weights, bias, matrix };
}

/** Returns the column of row i when values alternate with gates. */
function pairedAt(i: number, half: number): number {
  const row = i % half;
  return 4 * Math.floor(row / 2) + (row % 2) + (i >= half ? 2 : 0);
}

/** The halves of one tensor are packed as its parts, from the same rows. */
function packHalves(on: Device, k: number, weights: Float32Array, half: number): Matrix {
  const parts = interleavedHalves('w', half);
  const flat = parts.map((part) => ({ ...part, firstRow: 0 }));
  return packMatrix(on, 'f32', k, flat, weights);
}

function dot(of: Problem, row: number, column: number): { sum: number; size: number } {
  let sum = of.bias[column]!;
  let size = Math.abs(sum);
  for (let i = 0; i < of.k; i++) {
    const term = of.x[row * of.k + i]! * of.weights[column * of.k + i]!;
    sum += term;
    size += Math.abs(term);
  }
  return { sum, size };
}

function run(on: Device, record: (input: Input) => Tensor): Promise<Float32Array[]> {
  return compute({ device: on, capacity: {}, sizes: {}, record: (_, input) => record(input) });
}

const VARIANTS: [string, Disguise][] = [
  ['the adapter as it is', {}],
  ['no subgroups', { portable: true }],
];

describe.each(VARIANTS)('activations after a product, %s', (_, as) => {
  it.each(['silu', 'gelu'] as const)('linear, then %s', async (name) => {
    const on = disguise(device, as);
    for (const [rows, columns, k] of [
      [5, 67, 33],
      [3, 7, 40],
    ] as const) {
      const of = problem(on, rows, columns, k);
      const y = await run(on, (input) => linear(input([rows, k], of.x), of.matrix, { activation: name }));
      y.forEach((values, row) =>
        values.forEach((value, column) => {
          const { sum, size } = dot(of, row, column);
          expectBelow(Math.abs(value - FUNCTIONS[name](sum)), TOLERANCE * (size + 0.1));
        }),
      );
    }
  });

  it('values times gelu of gates', async () => {
    const on = disguise(device, as);
    const of = problem(on, 5, 2 * 37, 33, true);
    const y = await run(on, (input) => linearGeglu(input([5, 33], of.x), of.matrix));
    y.forEach((values, row) =>
      values.forEach((value, column) => {
        const [v, gate] = [dot(of, row, column), dot(of, row, 37 + column)];
        const right = v.sum * FUNCTIONS.gelu(gate.sum);
        const size = v.size * (1 + Math.abs(gate.sum)) + 1.2 * gate.size * Math.abs(v.sum);
        expectBelow(Math.abs(value - right), TOLERANCE * size);
      }),
    );
  });
});

it('strips of 256 KiB give the same bits', async () => {
  const rows = 700;
  const random = new Random(3);
  const residual = random.floats(rows * 131);
  const results = async (on: Device) => {
    const of = problem(on, rows, 131, 97);
    const each = (record: (x: Tensor, input: Input) => Tensor) =>
      run(on, (input) => record(input([7, 100, 97], of.x), input));
    return [
      await each((x) => linear(x, of.matrix, { activation: 'gelu' })),
      await each((x, input) => linearAdd(x, of.matrix, input([7, 100, 131], residual))),
    ].flat();
  };
  const narrow = disguise(device, { bindingLimit: 256 << 10 });
  expect(differingRows(await results(narrow), await results(device))).toEqual([]);
});
