// Scales and exponents that a tensor of their own holds, by what a matrix of ones is with them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { FORMATS, type NumberSource } from '../../src/kernels/formats.ts';
import {
  allocateMatrix,
  interleaved,
  interleavedHalves,
  stacked,
  type Matrix,
  type MatrixPart,
} from '../../src/kernels/matrix.ts';
import { packRows } from '../../src/kernels/pack.ts';
import { spreadExponents, spreadScales } from '../../src/kernels/spread-scales.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { disguise, openTestDevice } from '../gpu/test-device.ts';
import { Random, upload } from './compute.ts';
import { columnsOf } from './stored.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

/** Codes of 1 in E4M3, and two of them in E2M1. */
const ONE = { e4m3: 0x38, e2m1: 0x22 };

/** A matrix of ones, of tensors of `rows` rows each. */
function onesOf(on: Device, source: 'e4m3' | 'e2m1', k: number, rows: number, parts: MatrixPart[]): Matrix {
  const matrix = allocateMatrix(on, FORMATS[source === 'e4m3' ? 'e4m3' : 'mxfp4'], k, parts);
  const rowBytes = source === 'e4m3' ? k : k / 2;
  const chunk = 8;
  for (const part of parts) {
    for (let firstRow = 0; firstRow < rows; firstRow += chunk) {
      const count = Math.min(chunk, rows - firstRow);
      const raw = upload(on, new Uint8Array(count * rowBytes).fill(ONE[source]));
      runOnce(on, (tape) => packRows(tape, matrix, part, { raw, source, firstRow, rows: count }));
    }
  }
  return matrix;
}

/** Row of a tensor at a column, where its halves stand in turns of two. */
const halfRow = (column: number, rows: number): number =>
  2 * Math.floor(column / 4) + (column % 2) + (column % 4 < 2 ? 0 : rows / 2);

async function expectValues(
  on: Device,
  matrix: Matrix,
  wanted: (column: number, k: number) => number,
): Promise<void> {
  expect(on.takeError()).toBeNull();
  for (let first = 0; first < matrix.columns; first += 8) {
    const columns = await columnsOf(on, matrix, { first, count: Math.min(8, matrix.columns - first) });
    const wrong = columns.flatMap((column, i) =>
      [...column].filter((value, at) => value !== wanted(first + i, at)),
    );
    expect(wrong).toEqual([]);
  }
}

/** Powers of two, which every type of numbers holds. */
const randomPowers = (count: number, seed: number): Float32Array => {
  const random = new Random(seed);
  return Float32Array.from(
    { length: count },
    () => 2 ** (random.integer(12) - 6) * (random.next() < 0.5 ? -1 : 1),
  );
};

function stored(values: Float32Array, source: NumberSource): Float32Array | Uint8Array {
  if (source === 'f32') return values;
  const words = new Uint32Array(values.buffer);
  const half = (word: number): number =>
    source === 'bf16' ? word >>> 16 : ((word >>> 16) & 0x8000) | ((((word >>> 23) & 255) - 112) << 10);
  return new Uint8Array(Uint16Array.from(words, half).buffer);
}

describe('scales', () => {
  const [rows, k] = [168, 256];
  const whole = stacked([{ name: 'w', rows }]);

  it.each([
    ['tiles of 128 × 128', 'f32', { rows: 128, blocks: 2 }, 4],
    ['rows', 'bf16', { rows: 1, blocks: 1 }, rows],
    ['a whole matrix', 'f16', { rows, blocks: 1 }, 1],
  ] as const)('of %s in %s', async (_, source, tiles, count) => {
    const scales = randomPowers(count, count);
    const matrix = onesOf(device, 'e4m3', k, rows, whole);
    const raw = upload(device, stored(scales, source));
    for (const part of matrix.parts)
      runOnce(device, (tape) => spreadScales(tape, matrix, part, { raw, source, tiles }));
    const scaleAt = (row: number, i: number): number =>
      scales[Math.floor(row / tiles.rows) * tiles.blocks + Math.min(Math.floor(i / 128), tiles.blocks - 1)]!;
    await expectValues(device, matrix, scaleAt);
  });

  it('of two halves in turns', async () => {
    const scales = randomPowers(4, 3);
    const matrix = onesOf(device, 'e4m3', k, rows, interleavedHalves('w', rows / 2));
    const tiles = { rows: 128, blocks: 2 };
    const raw = upload(device, scales);
    for (const part of matrix.parts)
      runOnce(device, (tape) => spreadScales(tape, matrix, part, { raw, source: 'f32', tiles }));
    await expectValues(
      device,
      matrix,
      (column, i) => scales[Math.floor(halfRow(column, rows) / 128) * 2 + Math.floor(i / 128)]!,
    );
  });

  it('in several windows', async () => {
    const narrow = disguise(device, { bindingLimit: 16 << 10 });
    const scales = randomPowers(rows, 5);
    const matrix = onesOf(narrow, 'e4m3', k, rows, whole);
    expect(matrix.windows.length).toBeGreaterThan(1);
    const given = { raw: upload(narrow, scales), source: 'f32', tiles: { rows: 1, blocks: 1 } } as const;
    for (const part of matrix.parts) runOnce(narrow, (tape) => spreadScales(tape, matrix, part, given));
    await expectValues(narrow, matrix, (row) => scales[row]!);
  });
});

describe('exponents of scales', () => {
  const [rows, k] = [40, 96];
  const random = new Random(7);
  const exponents = Uint8Array.from({ length: (rows * k) / 32 }, () => 120 + random.integer(15));
  const powerAt = (row: number, i: number): number =>
    2 ** (exponents[row * (k / 32) + Math.floor(i / 32)]! - 127);

  it('of rows', async () => {
    const matrix = onesOf(device, 'e2m1', k, rows, stacked([{ name: 'w', rows }]));
    const raw = upload(device, exponents);
    for (const part of matrix.parts) runOnce(device, (tape) => spreadExponents(tape, matrix, part, raw));
    await expectValues(device, matrix, powerAt);
  });

  it('of even and odd rows in turns', async () => {
    const parts = interleaved('w', 'w', rows / 2).map((part, i) => ({ ...part, firstRow: i, rowStep: 2 }));
    const matrix = onesOf(device, 'e2m1', k, rows, parts);
    const raw = upload(device, exponents);
    for (const part of matrix.parts) runOnce(device, (tape) => spreadExponents(tape, matrix, part, raw));
    const rowOf = (column: number): number =>
      2 * (2 * Math.floor(column / 4) + (column % 2)) + (column % 4 < 2 ? 0 : 1);
    await expectValues(device, matrix, (column, i) => powerAt(rowOf(column), i));
  });
});
