// Rows as quantize-rows.wgsl rounds them, computed here: blocks of 32 k's in 8 bits under a scale of their own.

import type { Random } from './compute.ts';

/** 1 / 127 in f32. */
const STEP_SIZE = Math.fround(1 / 127);

export interface RoundedBlock {
  scale: number;
  codes: Int8Array;
}

/** The block's scale, and the multiples of it nearest to its values; k's after the last value are zeros. */
export function roundedBlock(values: Float32Array): RoundedBlock {
  let largest = 0;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i]!));
  const codes = new Int8Array(32);
  for (let i = 0; i < values.length; i++) codes[i] = Math.round((values[i]! / largest) * 127);
  return { scale: Math.fround(largest * STEP_SIZE), codes };
}

/** What products see of rows of k values each. */
export function roundedRows(x: Float32Array, k: number): Float64Array {
  const rounded = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += k) {
    for (let first = row; first < row + k; first += 32) {
      const values = x.subarray(first, Math.min(first + 32, row + k));
      const { scale, codes } = roundedBlock(values);
      for (let i = 0; i < values.length; i++) rounded[first + i] = scale * codes[i]!;
    }
  }
  return rounded;
}

/** `count` rows of k values whose blocks are far from where rounding changes: quarters beside multiples of their scale. */
export function activations(count: number, k: number, random: Random): Float32Array {
  const x = new Float32Array(count * k);
  for (let row = 0; row < x.length; row += k) {
    for (let first = row; first < row + k; first += 32) {
      const size = Math.min(32, row + k - first);
      const scale = 2 ** -(6 + random.integer(4));
      for (let i = 0; i < size; i++)
        x[first + i] = scale * (random.integer(253) - 126 + (random.integer(3) - 1) / 4);
      x[first + random.integer(size)] = 127 * scale;
    }
  }
  return x;
}
