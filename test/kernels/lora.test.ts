// Low-rank adapters beside a matmul, against sums in f64: parts with ranks of their own, rows of several adapters and of none; and
// bit by bit against each other, since a request's tokens must not depend on who runs beside it.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Region, Tensor } from '../../src/gpu/tensor.ts';
import { paddedColumns } from '../../src/gpu/tensor.ts';
import { NO_ADAPTER } from '../../src/kernels/batch.ts';
import { linear, linearAdd, linearSwiglu } from '../../src/kernels/matmul.ts';
import { type FormatName as Format } from '../../src/kernels/formats.ts';
import { interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { disguise, openTestDevice, type Disguise } from '../gpu/test-device.ts';
import { compute, differingRows, Random, upload } from './compute.ts';
import { packMatrix, weightsFor } from './packed.ts';
import { activations, roundedRows } from './rounded-rows.ts';

/** Rounding of a few ulp of the largest partial sum, which here runs through two products. */
const ROUNDING = 4e-6;

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

type Store = 'set' | 'gelu' | 'add' | 'swiglu';

/** Factors of an adapter for a part: A [rank, k], B [rows, rank]. */
interface Factors {
  rank: number;
  scale: number;
  a: Float32Array;
  b: Float32Array;
}

interface Problem {
  store: Store;
  /** Rows of each part; gate and up for swiglu. */
  parts: number[];
  k: number;
  x: Float32Array;
  weights: Float32Array;
  residual: Float32Array;
  /** [adapter][part]; null: the adapter does not change the part. */
  adapters: (Factors | null)[][];
  /** Adapter of each row; null: none. */
  adapterOf: (number | null)[];
  matrix: Matrix;
}

interface Wanted {
  store?: Store;
  parts: number[];
  k: number;
  /** [adapter][part]; 0: the adapter does not change the part. */
  ranks: number[][];
  adapterOf: (number | null)[];
  format?: Format;
}

function problem(on: Device, { store = 'set', parts, k, ranks, adapterOf, format = 'f32' }: Wanted): Problem {
  const random = new Random(parts[0]! * 1000 + k);
  const columns = parts.reduce((sum, rows) => sum + rows, 0);
  const weights = weightsFor(format, columns, k, random);
  const adapters = ranks.map((own) =>
    own.map((rank, part) => {
      if (rank === 0) return null;
      const scale = random.float();
      return { rank, scale, a: random.floats(rank * k), b: random.floats(parts[part]! * rank) };
    }),
  );
  const placed =
    store === 'swiglu'
      ? interleaved('gate', 'up', parts[0]!)
      : stacked(parts.map((rows, i) => ({ name: `part ${i}`, rows })));
  const matrix = packMatrix(on, format, k, placed, weights);
  const x = random.floats(adapterOf.length * k);
  const residual = random.floats(adapterOf.length * columns);
  matrix.lora = { region: packFactors(on, matrix, adapters), rank: 4 * Math.ceil(largest(ranks) / 4) };
  return { store, parts, k, x, weights, residual, adapters, adapterOf, matrix };
}

const largest = (ranks: number[][]): number => Math.max(...ranks.flat());

/** Packs factors in the layout of shaders/lib/lora.wgsl. */
function packFactors(on: Device, { parts, columns, k }: Matrix, adapters: Problem['adapters']): Region {
  const stride = paddedColumns(k);
  const words: number[] = [];
  const first = 4 * (2 + adapters.length * parts.length + Math.ceil((adapters.length * parts.length) / 4));
  const data: number[] = [];
  const put = (values: Float32Array, width: number, padded: number): number => {
    const at = (first + data.length) / 4;
    for (let row = 0; row < values.length / width; row++)
      for (let i = 0; i < padded; i++) data.push(i < width ? values[row * width + i]! : 0);
    return at;
  };
  const turns = parts[0]!.placement.unit === 2 && parts.length === 2;
  const ranks = adapters.map((own) => own.map((part) => part?.rank ?? 0));
  words.push(adapters.length, parts.length, Math.ceil(largest(ranks) / 4), Number(turns));
  words.push(...[1, 2].map((i) => parts[i]?.placement.firstColumn ?? 0xffffffff), columns, 0);
  const scales: number[] = [];
  for (const part of adapters.flat()) {
    scales.push(part?.scale ?? 0);
    if (!part) words.push(0, 0, 0, 0);
    else {
      const quads = Math.ceil(part.rank / 4);
      words.push(quads, part.rank, put(part.a, k, stride), put(part.b, part.rank, 4 * quads));
    }
  }
  const region = new Uint32Array(first + data.length);
  region.set(words);
  new Float32Array(region.buffer).set(scales, words.length);
  new Float32Array(region.buffer).set(data, first);
  return upload(on, region);
}

/** Rows `from` to `to` of a problem, on a tape for `capacity` rows. */
function run(on: Device, of: Problem, capacity: number, from = 0, to: number = of.adapterOf.length) {
  const decodes = on.profile.matvecRows === null ? [] : ['rows'];
  const adapters = upload(
    on,
    Uint32Array.from(of.adapterOf.slice(from, to), (adapter) => adapter ?? NO_ADAPTER),
  );
  return compute({
    device: on,
    capacity: { rows: capacity },
    sizes: { rows: to - from },
    adapters: { ...adapters, size: Math.max(adapters.size, 4 * capacity) },
    decodes,
    record(_, input): Tensor {
      const x = input(['rows', of.k], of.x.subarray(from * of.k, to * of.k));
      if (of.store === 'set') return linear(x, of.matrix);
      if (of.store === 'gelu') return linear(x, of.matrix, { activation: 'gelu-tanh' });
      if (of.store === 'swiglu') return linearSwiglu(x, of.matrix);
      const { columns } = of.matrix;
      const residual = of.residual.subarray(from * columns, to * columns);
      return linearAdd(x, of.matrix, input(['rows', columns], residual));
    },
  });
}

/** Returns output `i` of a part for a row, and the sum of its terms' magnitudes. */
function output(of: Problem, row: number, part: number, i: number): { sum: number; size: number } {
  const before = of.parts.slice(0, part).reduce((sum, rows) => sum + rows, 0);
  const dot = (values: Float32Array, at: number): { sum: number; size: number } => {
    let [sum, size] = [0, 0];
    for (let j = 0; j < of.k; j++) {
      const term = of.x[row * of.k + j]! * values[at * of.k + j]!;
      sum += term;
      size += Math.abs(term);
    }
    return { sum, size };
  };
  let { sum, size } = dot(of.weights, before + i);
  const adapter = of.adapterOf[row];
  const factors = adapter == null ? null : of.adapters[adapter]![part]!;
  if (!factors) return { sum, size };
  for (let r = 0; r < factors.rank; r++) {
    const low = dot(factors.a, r);
    const b = factors.scale * factors.b[i * factors.rank + r]!;
    sum += b * low.sum;
    size += Math.abs(b) * low.size;
  }
  return { sum, size };
}

function gelu(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}

function expectRight(of: Problem, y: Float32Array[]): void {
  expect(y.length).toBe(of.adapterOf.length);
  const { store, parts } = of;
  y.forEach((values, row) => {
    const near = (at: number, sum: number, size: number) =>
      expect(Math.abs(values[at]! - sum) / (size + 0.01), `row ${row}, column ${at}`).toBeLessThan(ROUNDING);
    if (store === 'swiglu') {
      for (let i = 0; i < parts[0]!; i++) {
        const [gate, up] = [output(of, row, 0, i), output(of, row, 1, i)];
        const gated = gate.sum / (1 + Math.exp(-gate.sum));
        near(i, gated * up.sum, 1.1 * gate.size * (Math.abs(up.sum) + 1) + Math.abs(gated) * (up.size + 1));
      }
      return;
    }
    let at = 0;
    parts.forEach((rows, part) => {
      for (let i = 0; i < rows; i++, at++) {
        const { sum, size } = output(of, row, part, i);
        const before = store === 'add' ? of.residual[row * of.matrix.columns + at]! : 0;
        const y = store === 'gelu' ? gelu(sum) : before + sum;
        near(at, y, (store === 'gelu' ? 1.2 : 1) * size + Math.abs(before));
      }
    });
  });
}

/** Rows of three adapters and without one, in mixed order. */
const ROWS = [2, null, 0, 0, 1, null, 2, 1, 1, 0, null, null, 2, 0, 1, 2, 0, null, 1];

/** Sizes: one, primes, just over a quad and a workgroup; one adapter leaves a part unchanged. */
const PROBLEMS: Record<string, Omit<Wanted, 'adapterOf'>> = {
  'one part': { parts: [7], k: 33, ranks: [[1], [5], [4]] },
  'a single output of a single input': { parts: [1], k: 1, ranks: [[3], [1], [8]] },
  'three parts': {
    parts: [67, 13, 5],
    k: 97,
    ranks: [
      [4, 8, 33],
      [0, 3, 0],
      [16, 0, 1],
    ],
  },
  'into a residual': { store: 'add', parts: [129], k: 61, ranks: [[33], [2], [0]] },
  'before an activation': { store: 'gelu', parts: [34], k: 61, ranks: [[9], [2], [0]] },
  'gate and up': {
    store: 'swiglu',
    parts: [66, 66],
    k: 35,
    ranks: [
      [8, 0],
      [5, 7],
      [0, 12],
    ],
  },
  'beside int8': {
    format: 'int8',
    parts: [40, 24],
    k: 64,
    ranks: [
      [8, 8],
      [3, 9],
      [0, 16],
    ],
  },
};

const VARIANTS: { name: string; as: Disguise }[] = [
  { name: 'the adapter as it is', as: {} },
  { name: 'without subgroups', as: { portable: true } },
  { name: 'rows of a decode step on a GPU', as: { profile: 'discrete', matvecRows: 2 } },
];

for (const { name, as } of VARIANTS) {
  it.each(Object.entries(PROBLEMS))(`${name}: %s`, async (_, wanted) => {
    const on = disguise(device, as);
    const of = problem(on, { ...wanted, adapterOf: ROWS });
    const all = await run(on, of, 48);
    expectRight(of, all);
    // The results are the same in any batch.
    for (const [from, to, capacity] of [
      [0, 1, 1],
      [4, 8, 4],
      [3, 19, 16],
    ] as const)
      expect(differingRows(await run(on, of, capacity, from, to), all.slice(from, to))).toEqual([]);
  });
}

it('factors multiply rows as they are where products round them to 8 bits', async () => {
  const on = disguise(device, { profile: 'discrete', matvecRows: 2, activations: 'int8' });
  const of = problem(on, { ...PROBLEMS['beside int8']!, adapterOf: ROWS });
  const rows = activations(ROWS.length, of.k, new Random(5));
  // Rounding does not change these.
  const exact = Float32Array.from(roundedRows(rows, of.k));
  expectRight({ ...of, x: exact }, await run(on, { ...of, x: exact }, 48));
  // The parts that adapters make up are those of floats.
  const lora = of.matrix.lora;
  const adapted = await run(on, { ...of, x: rows }, 48);
  of.matrix.lora = null;
  const plain = await run(on, { ...of, x: rows }, 48);
  const floats = disguise(device, { profile: 'discrete', matvecRows: 2 });
  const zeros = problem(floats, { ...PROBLEMS['beside int8']!, adapterOf: ROWS });
  const byFloats = await run(floats, { ...zeros, x: rows }, 48);
  zeros.matrix.lora = null;
  const plainFloats = await run(floats, { ...zeros, x: rows }, 48);
  of.matrix.lora = lora;
  adapted.forEach((row, i) =>
    row.forEach((value, at) => {
      const part = byFloats[i]![at]! - plainFloats[i]![at]!;
      expect(Math.abs(value - plain[i]![at]! - part)).toBeLessThan(1e-4 * (1 + Math.abs(value)));
    }),
  );
  expect(differingRows(plain, plainFloats)).toHaveLength(ROWS.length);
});

it('rows beyond one binding are walked in strips', async () => {
  const wanted: Wanted = {
    format: 'bf16',
    parts: [7],
    k: 400,
    ranks: [[1], [5], [4]],
    adapterOf: ROWS,
  };
  const narrow = disguise(device, { bindingLimit: 32 << 10 });
  const y = await run(narrow, problem(narrow, wanted), 48);
  expectRight(problem(narrow, wanted), y);
  expect(differingRows(y, await run(device, problem(device, wanted), 48))).toEqual([]);
});

it('rows without an adapter are what they are without any', async () => {
  const of = problem(device, { ...PROBLEMS['three parts']!, adapterOf: ROWS });
  const all = await run(device, of, 32);
  of.matrix.lora = null;
  const plain = await run(device, of, 32);
  const none = ROWS.flatMap((adapter, row) => (adapter === null ? [row] : []));
  expect(differingRows(all, plain)).toEqual(ROWS.flatMap((_, row) => (none.includes(row) ? [] : [row])));
});

it('rows must be those that adapters are told of', async () => {
  const of = problem(device, { ...PROBLEMS['one part']!, adapterOf: [0] });
  await expect(
    compute({
      device,
      capacity: { others: 1 },
      sizes: { others: 1 },
      adapters: upload(device, new Uint32Array(1)),
      record: (_, input) => linear(input(['others', of.k], of.x), of.matrix),
    }),
  ).rejects.toThrow('[others, 33]');
});
