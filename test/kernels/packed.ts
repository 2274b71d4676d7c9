// Weights whose values a packed format holds exactly, so that a reference needs no quantiser of its own.

import type { Device } from '../../src/gpu/device.ts';
import { FORMATS, type FormatName as Format } from '../../src/kernels/formats.ts';
import { allocateMatrix, type Matrix, type MatrixForm, type MatrixPart } from '../../src/kernels/matrix.ts';
import { packRows } from '../../src/kernels/pack.ts';
import { runOnce } from '../../src/kernels/run-once.ts';
import { toF16, upload, type Random } from './compute.ts';

/** rows × k values in ±1. */
export function weightsFor(format: Format, rows: number, k: number, random: Random): Float32Array {
  if (format === 'int8' || format === 'int4') return gridWeights(format, rows, k, random);
  return random.floats(rows * k).map((value) => {
    if (format === 'f16') return toF16(value);
    return format === 'bf16' ? toBf16(value) : value;
  });
}

function toBf16(value: number): number {
  const step = 2 ** (Math.floor(Math.log2(Math.abs(value))) - 7);
  return Math.trunc(value / step) * step;
}

/** Codes times a power of two, with the extreme code in every block of 32. */
function gridWeights(format: 'int8' | 'int4', rows: number, k: number, random: Random): Float32Array {
  const [lowest, highest] = format === 'int8' ? [-127, 127] : [-8, 7];
  const values = new Float32Array(rows * k);
  for (let row = 0; row < rows; row++) {
    for (let block = 0; block < k; block += 32) {
      const size = Math.min(32, k - block);
      const scale = 2 ** -(7 + random.integer(3)) * (format === 'int8' ? 1 : 16);
      for (let i = 0; i < size; i++) {
        values[row * k + block + i] = scale * (lowest + random.integer(highest - lowest + 1));
      }
      values[row * k + block + random.integer(size)] = scale * lowest;
    }
  }
  return values;
}

const CHUNK_ROWS = 32;

/** A matrix of these parts, whose values lie one after the other in f32. */
export function packMatrix(
  device: Device,
  format: Format,
  k: number,
  parts: MatrixPart[],
  values: Float32Array,
  form: MatrixForm = {},
): Matrix {
  const matrix = allocateMatrix(device, FORMATS[format], k, parts, form);
  runOnce(device, (tape) => {
    let first = 0;
    for (const part of parts) {
      for (let firstRow = 0; firstRow < part.rows; firstRow += CHUNK_ROWS) {
        const rows = Math.min(CHUNK_ROWS, part.rows - firstRow);
        const raw = upload(device, values.subarray((first + firstRow) * k, (first + firstRow + rows) * k));
        packRows(tape, matrix, part, { raw, source: 'f32', firstRow, rows });
      }
      first += part.rows;
    }
  });
  return matrix;
}
