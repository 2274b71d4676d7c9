// A matmul with LoRAs beside it: its numbers, the launch of its rows, and its sums in f64.

import { expect } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import type { Region, Tensor } from '../../src/gpu/tensor.ts';
import { paddedColumns } from '../../src/gpu/tensor.ts';
import { NO_LORA } from '../../src/kernels/batch.ts';
import { linear, linearAdd, linearSwiglu } from '../../src/kernels/matmul.ts';
import { type FormatName as Format } from '../../src/kernels/formats.ts';
import { interleaved, stacked, type Matrix } from '../../src/kernels/matrix.ts';
import { compute, Random, upload } from './compute.ts';
import { packMatrix, weightsFor } from './packed.ts';

/** Rounding of a few ulp of the largest partial sum, which here runs through two products. */
const ROUNDING = 4e-6;

type Store = 'set' | 'gelu' | 'add' | 'swiglu';

/** Factors of a LoRA for a part: A [rank, k], B [rows, rank]. */
interface Factors {
  rank: number;
  scale: number;
  a: Float32Array;
  b: Float32Array;
}

export interface Problem {
  store: Store;
  /** Rows of each part; gate and up for swiglu. */
  parts: number[];
  k: number;
  x: Float32Array;
  weights: Float32Array;
  residual: Float32Array;
  /** [LoRA][part]; null: the LoRA does not change the part. */
  adapters: (Factors | null)[][];
  /** LoRA of each row; null: none. */
  adapterOf: (number | null)[];
  matrix: Matrix;
}

export interface Wanted {
  store?: Store;
  parts: number[];
  k: number;
  /** [LoRA][part]; 0: the LoRA does not change the part. */
  ranks: number[][];
  adapterOf: (number | null)[];
  format?: Format;
}

export function problem(
  on: Device,
  { store = 'set', parts, k, ranks, adapterOf, format = 'f32' }: Wanted,
): Problem {
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
export function run(on: Device, of: Problem, capacity: number, from = 0, to: number = of.adapterOf.length) {
  const decodes = on.profile.matvecRows === null ? [] : ['rows'];
  const adapters = upload(
    on,
    Uint32Array.from(of.adapterOf.slice(from, to), (adapter) => adapter ?? NO_LORA),
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

export function expectRight(of: Problem, y: Float32Array[]): void {
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
