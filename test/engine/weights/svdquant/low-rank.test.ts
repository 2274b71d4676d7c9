// Factors of low rank: exact where the matrix has that rank, and near the best where it has more, also across bindings.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addProduct,
  lowRankOf,
  type MatrixInStrips,
} from '../../../../src/engine/weights/svdquant/low-rank.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { Random } from '../../../kernels/compute.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const ROWS = 48;
const K = 80;

/** A matrix of these singular values along random directions. */
function matrixOf(values: readonly number[]): Float32Array<ArrayBuffer> {
  const random = new Random(3);
  const y = new Float32Array(ROWS * K);
  const unit = (size: number): Float32Array => {
    const x = random.floats(size);
    const length = Math.hypot(...x);
    return x.map((value) => value / length);
  };
  for (const value of values) {
    const [left, right] = [unit(ROWS), unit(K)];
    for (let i = 0; i < y.length; i++) y[i]! += value * left[Math.floor(i / K)]! * right[i % K]!;
  }
  return y;
}

/** The norm of what factors of a rank leave, relative to the matrix. */
async function rest(values: Float32Array<ArrayBuffer>, rank: number, stripRows: number): Promise<number> {
  const strips = [];
  for (let first = 0; first < ROWS; first += stripRows) {
    const rows = Math.min(stripRows, ROWS - first);
    const buffer = device.allocate('step', 'matrix', 4 * rows * K);
    device.gpu.queue.writeBuffer(buffer, 0, values, first * K, rows * K);
    strips.push({ region: { buffer, offset: 0, size: buffer.size }, first, rows });
  }
  const matrix: MatrixInStrips = { rows: ROWS, k: K, strips };
  addProduct(device, matrix, await lowRankOf(device, matrix, rank), -1);
  let sum = 0;
  for (const { region, rows } of strips) {
    for (const value of new Float32Array(await device.read(region), 0, rows * K)) sum += value ** 2;
    device.free(region.buffer);
  }
  return Math.sqrt(sum) / Math.hypot(...values);
}

describe('factors of low rank', () => {
  it.each([48, 20])('leave nothing of a matrix of that rank, in strips of %i rows', async (stripRows) => {
    const before = device.memoryUsed;
    expect(await rest(matrixOf([9, 5, 4, 3, 2, 1]), 6, stripRows)).toBeLessThan(1e-5);
    expect(device.memoryUsed).toBe(before);
  });

  it('leave what is small', async () => {
    const large = [100, 80, 60, 40];
    const small = Array.from({ length: 30 }, () => 1);
    expect(await rest(matrixOf([...large, ...small]), 4, ROWS)).toBeLessThan(0.045);
  });

  it('are there for a matrix of zeros, and of less than their rank', async () => {
    expect(await rest(matrixOf([3, 2]), 8, ROWS)).toBeLessThan(1e-5);
    const zeros = new Float32Array(ROWS * K);
    const buffer = device.allocate('step', 'matrix', zeros.byteLength);
    device.gpu.queue.writeBuffer(buffer, 0, zeros);
    const strips = [{ region: { buffer, offset: 0, size: buffer.size }, first: 0, rows: ROWS }];
    const { up, down } = await lowRankOf(device, { rows: ROWS, k: K, strips }, 4);
    device.free(buffer);
    expect([...up, ...down].every((value) => value === 0)).toBe(true);
  });
});
