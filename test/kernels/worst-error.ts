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
  y.forEach((sums, row) =>
    sums.forEach((got, column) => {
      let [sum, size] = [0, 1e-30];
      for (let i = 0; i < k; i++) {
        const term = x[row * k + i]! * weights[column * k + i]!;
        sum += term;
        size += Math.abs(term);
      }
      const error = Math.abs(got - sum) / size;
      worst = error <= worst ? worst : Number.isNaN(error) ? Infinity : error;
    }),
  );
  return worst;
}
