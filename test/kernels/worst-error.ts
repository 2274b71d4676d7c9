/**
 * The largest error of y = x · wᵀ, as a share of the sum of its terms' sizes, of which at least 1e-30 are assumed; Infinity where y has a NaN. y: rows,
 * x: [rows, k], weights: [columns, k].
 */
export function worstError(
  y: readonly Float32Array[],
  x: Float32Array,
  weights: Float32Array,
  k: number,
): number {
  let worst = 0;
  for (let row = 0; row < y.length; row++) {
    const sums = y[row]!;
    for (let column = 0; column < sums.length; column++) {
      let [sum, size] = [0, 1e-30];
      for (let i = 0; i < k; i++) {
        const term = x[row * k + i]! * weights[column * k + i]!;
        sum += term;
        size += Math.abs(term);
      }
      const error = Math.abs(sums[column]! - sum) / size;
      worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
    }
  }
  return worst;
}

/**
 * The largest error of y = x · wᵀ, as a share of the sum of its terms' sizes and `least`; Infinity where y has a NaN. y: rows, x: rows one after
 * the other, weights: columns.
 */
export function worstOfColumns(
  y: readonly Float32Array[],
  x: Float32Array | Float64Array,
  weights: readonly Float32Array[],
  least = 0,
): number {
  let worst = 0;
  for (let row = 0; row < y.length; row++) {
    for (let column = 0; column < weights.length; column++) {
      const weight = weights[column]!;
      const from = row * weight.length;
      let [sum, size] = [0, least];
      for (let i = 0; i < weight.length; i++) {
        const term = weight[i]! * x[from + i]!;
        sum += term;
        size += Math.abs(term);
      }
      const error = size === 0 ? 0 : Math.abs(y[row]![column]! - sum) / size;
      worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
    }
  }
  return worst;
}

/** The largest distance of two lists of as many numbers; NaN where any of them is not a number. */
export function largestError(found: ArrayLike<number>, wanted: ArrayLike<number>): number {
  if (found.length !== wanted.length) return NaN;
  let largest = 0;
  for (let i = 0; i < wanted.length; i++) {
    const error = Math.abs(found[i]! - wanted[i]!);
    if (!(error <= largest)) largest = error;
    if (Number.isNaN(largest)) return NaN;
  }
  return largest;
}
