// The best factors of low rank for a matrix, nearly: subspace iteration from random columns, with products on the device and all that is narrow in
// this thread. source: Halko, Martinsson and Tropp, Finding structure with randomness (2011)

import { wholeOf } from '../../../gpu/memory.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Region } from '../../../gpu/tensor.ts';
import { loraProduct, type LeftFactor } from '../../../kernels/lora-product.ts';
import { runOnce } from '../../../kernels/run-once.ts';

/** Columns beyond the rank, and passes over the matrix and back. */
const SPARE = 8;
const PASSES = 3;

/** A matrix [rows, k] of f32 on the device, in strips of rows that each fit a binding. */
export interface MatrixInStrips {
  rows: number;
  k: number;
  strips: readonly { region: Region; first: number; rows: number }[];
}

/** up · down is near the matrix: [rows, rank] and [rank, k]. */
export interface BestFactors {
  up: Float32Array<ArrayBuffer>;
  down: Float32Array<ArrayBuffer>;
}

export async function lowRankOf(device: Device, matrix: MatrixInStrips, rank: number): Promise<BestFactors> {
  const { rows, k } = matrix;
  const width = Math.min(rank + SPARE, rows, k);
  let z = random(k, width);
  let q = z;
  for (let pass = 0; pass < PASSES; pass++) {
    q = orthonormal(await times(device, matrix, z, width), rows, width);
    const back = await timesTransposed(device, matrix, q, width);
    z = pass === PASSES - 1 ? back : orthonormal(back, k, width);
  }
  // The matrix is near q · zᵀ; the eigenvectors of zᵀ · z turn both so that columns stand by falling weight.
  const { values, vectors } = eigen(gram(z, k, width), width);
  const order = values.map((_, i) => i).sort((a, b) => values[b]! - values[a]!);
  const [up, down] = [new Float32Array(rows * rank), new Float32Array(rank * k)];
  for (let i = 0; i < rank; i++) {
    const column = order[i]!;
    const share = Math.sqrt(Math.sqrt(Math.max(values[column]!, 0)));
    const turn = Float64Array.from({ length: width }, (_, j) => vectors[j * width + column]!);
    for (let row = 0; row < rows; row++) up[row * rank + i] = share * dot(q, row * width, turn);
    for (let at = 0; at < k; at++) down[i * k + at] = share === 0 ? 0 : dot(z, at * width, turn) / share;
  }
  return { up, down };
}

/** Adds scale · up · down to the matrix. */
export function addProduct(
  device: Device,
  { strips, k }: MatrixInStrips,
  { up, down }: BestFactors,
  scale: number,
): void {
  const rank = down.length / k;
  using made = new Buffers(device);
  const [left, right] = [made.of(up), made.of(down)];
  for (const { region, first, rows } of strips)
    runOnce(device, (tape) =>
      loraProduct(
        tape,
        { region, rows, columns: k },
        { b: { region: left, row: rank, rank: 1, taps: 1 }, a: right, rank, firstRow: first },
        { op: 'add', scale },
      ),
    );
}

/** matrix · x, [rows, width]; x [k, width] */
async function times(
  device: Device,
  { strips, rows, k }: MatrixInStrips,
  x: Float32Array<ArrayBuffer>,
  width: number,
): Promise<Float32Array<ArrayBuffer>> {
  using made = new Buffers(device);
  const a = made.of(x);
  const out = new Float32Array(rows * width);
  for (const { region, first, rows: count } of strips) {
    const b: LeftFactor = { region, row: k, rank: 1, taps: 1 };
    const y = made.of(new Float32Array(count * width));
    runOnce(device, (tape) =>
      loraProduct(tape, { region: y, rows: count, columns: width }, { b, a, rank: k }, { op: 'set' }),
    );
    out.set(new Float32Array(await device.read(y), 0, count * width), first * width);
  }
  return out;
}

/** matrixᵀ · x, [k, width]; x [rows, width] */
async function timesTransposed(
  device: Device,
  { strips, k }: MatrixInStrips,
  x: Float32Array<ArrayBuffer>,
  width: number,
): Promise<Float32Array<ArrayBuffer>> {
  using made = new Buffers(device);
  const y = made.of(new Float32Array(k * width));
  for (const { region, first, rows } of strips) {
    const b: LeftFactor = { region, row: 1, rank: k, taps: 1 };
    const a = made.of(x.slice(first * width, (first + rows) * width));
    runOnce(device, (tape) =>
      loraProduct(tape, { region: y, rows: k, columns: width }, { b, a, rank: rows }, { op: 'add' }),
    );
  }
  return new Float32Array(await device.read(y), 0, k * width);
}

/** Buffers with values, for as long as a product is computed. */
class Buffers implements Disposable {
  readonly #device: Device;
  readonly #buffers: GPUBuffer[] = [];

  constructor(device: Device) {
    this.#device = device;
  }

  of(values: Float32Array<ArrayBuffer>): Region {
    const buffer = this.#device.allocate('step', 'a factor of weights', values.byteLength);
    this.#buffers.push(buffer);
    this.#device.gpu.queue.writeBuffer(buffer, 0, values);
    return wholeOf(buffer);
  }

  [Symbol.dispose](): void {
    for (const buffer of this.#buffers) this.#device.free(buffer);
  }
}

/** The same numbers each time: sums of two random halves. */
function random(rows: number, width: number): Float32Array<ArrayBuffer> {
  let state = 1;
  return Float32Array.from({ length: rows * width }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 16) + ((Math.imul(state, 0x9e3779b1) >>> 16) & 0xffff) - 65535;
  });
}

const dot = (x: Float32Array, first: number, turn: Float64Array): number => {
  let sum = 0;
  for (let j = 0; j < turn.length; j++) sum += x[first + j]! * turn[j]!;
  return sum;
};

/** Orthonormal columns that span those of x, [rows, width]: Gram and Schmidt's, each column twice; columns that depend on others are zero. */
function orthonormal(x: Float32Array, rows: number, width: number): Float32Array<ArrayBuffer> {
  const columns = Array.from({ length: width }, (_, j) =>
    Float64Array.from({ length: rows }, (__, row) => x[row * width + j]!),
  );
  columns.forEach((column, j) => {
    const before = length(column);
    for (let again = 0; again < 2; again++)
      for (const other of columns.slice(0, j)) {
        let share = 0;
        for (let row = 0; row < rows; row++) share += column[row]! * other[row]!;
        for (let row = 0; row < rows; row++) column[row]! -= share * other[row]!;
      }
    const size = length(column);
    const rate = size > 1e-6 * before ? 1 / size : 0;
    for (let row = 0; row < rows; row++) column[row]! *= rate;
  });
  return Float32Array.from({ length: rows * width }, (_, i) => columns[i % width]![Math.floor(i / width)]!);
}

function length(column: Float64Array): number {
  let sum = 0;
  for (const value of column) sum += value * value;
  return Math.sqrt(sum);
}

/** xᵀ · x, [width, width] */
function gram(x: Float32Array, rows: number, width: number): Float64Array {
  const out = new Float64Array(width * width);
  for (let row = 0; row < rows; row++)
    for (let i = 0; i < width; i++) {
      const value = x[row * width + i]!;
      for (let j = 0; j < width; j++) out[i * width + j]! += value * x[row * width + j]!;
    }
  return out;
}

/** Eigenvalues and eigenvectors, by columns, of a symmetric matrix: Jacobi's rotations. */
function eigen(given: Float64Array, size: number): { values: number[]; vectors: Float64Array } {
  const m = given.slice();
  const vectors = Float64Array.from({ length: size * size }, (_, i) => Number(i % (size + 1) === 0));
  const rotate = (of: Float64Array, a: number, b: number, cos: number, sin: number): void => {
    const [x, y] = [of[a]!, of[b]!];
    of[a] = cos * x - sin * y;
    of[b] = sin * x + cos * y;
  };
  for (let sweep = 0; sweep < 12; sweep++)
    for (let p = 0; p < size; p++)
      for (let q = p + 1; q < size; q++) {
        const off = m[p * size + q]!;
        if (Math.abs(off) <= 1e-14 * Math.sqrt(Math.abs(m[p * size + p]! * m[q * size + q]!))) continue;
        const half = (m[q * size + q]! - m[p * size + p]!) / (2 * off);
        const tan = Math.sign(half || 1) / (Math.abs(half) + Math.hypot(half, 1));
        const cos = 1 / Math.hypot(tan, 1);
        for (let i = 0; i < size; i++) rotate(m, i * size + p, i * size + q, cos, tan * cos);
        for (let i = 0; i < size; i++) rotate(m, p * size + i, q * size + i, cos, tan * cos);
        for (let i = 0; i < size; i++) rotate(vectors, i * size + p, i * size + q, cos, tan * cos);
      }
  return { values: Array.from({ length: size }, (_, i) => m[i * size + i]!), vectors };
}
