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
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const codes = new Int8Array(32);
  values.forEach((value, i) => (codes[i] = Math.round((value / largest) * 127)));
  return { scale: Math.fround(largest * STEP_SIZE), codes };
}

/** What products see of rows of k values each. */
export function roundedRows(x: Float32Array, k: number): Float64Array {
  const rounded = new Float64Array(x.length);
  for (let row = 0; row < x.length; row += k) {
    for (let first = row; first < row + k; first += 32) {
      const values = x.subarray(first, Math.min(first + 32, row + k));
      const { scale, codes } = roundedBlock(values);
      values.forEach((_, i) => (rounded[first + i] = scale * codes[i]!));
    }
  }
  return rounded;
}

/** The largest error of y = x · wᵀ, as a share of the sum of its terms' sizes. `weights`: by columns. */
export function worstError(y: Float32Array[], x: Float64Array, weights: readonly Float32Array[]): number {
  let worst = 0;
  y.forEach((sums, row) =>
    weights.forEach((weight, column) => {
      let [sum, size] = [0, 0];
      weight.forEach((w, i) => {
        const term = w * x[row * weight.length + i]!;
        sum += term;
        size += Math.abs(term);
      });
      const error = size === 0 ? 0 : Math.abs(sums[column]! - sum) / size;
      worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
    }),
  );
  return worst;
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
