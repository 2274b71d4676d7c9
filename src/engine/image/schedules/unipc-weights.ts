// UniPC's weights of the differences between estimates: a small linear system that matches the exponential's expansion.

export interface UniExpansion {
  /** Whether estimates are of the clean latents; if not, of the noise. */
  clean: boolean;
  /** Whether B(h) = h; if not, B(h) = eʰ − 1. */
  bh1: boolean;
}

/**
 * For a step of `h` in λ: φ₁, B(h), and one weight per ratio (position of an older estimate, in steps); the corrector's weight
 * comes last.
 */
export function weights(
  { clean, bh1 }: UniExpansion,
  h: number,
  ratios: readonly number[],
  corrector: boolean,
): { phi: number; scale: number; rhos: number[] } {
  const z = clean ? -h : h;
  const phi = Math.expm1(z);
  const scale = bh1 ? z : phi;
  const size = ratios.length + (corrector ? 1 : 0);
  if (size === 0) return { phi, scale, rhos: [] };
  if (size === 1) return { phi, scale, rhos: [0.5] };
  const nodes = corrector ? [...ratios, 1] : ratios;
  const matrix = Array.from({ length: size }, (_, power) => nodes.map((node) => node ** power));
  return { phi, scale, rhos: solve(matrix, moments(z, phi, scale, size)) };
}

/** i! · φᵢ₊₁(z) / B(h) for i = 1 … size. */
function moments(z: number, phi: number, scale: number, size: number): number[] {
  let term = phi / z - 1;
  let factorial = 1;
  return Array.from({ length: size }, (_, i) => {
    const moment = (term * factorial) / scale;
    factorial *= i + 2;
    term = term / z - 1 / factorial;
    return moment;
  });
}

/** Gaussian elimination with row pivots. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, right[i] ?? 0]);
  const size = rows.length;
  for (let column = 0; column < size; column += 1) {
    const pivot = rows
      .slice(column)
      .reduce((best, row) => (Math.abs(row[column] ?? 0) > Math.abs(best[column] ?? 0) ? row : best));
    rows.splice(rows.indexOf(pivot), 1);
    rows.splice(column, 0, pivot);
    for (const row of rows) {
      if (row === pivot) continue;
      const factor = (row[column] ?? 0) / (pivot[column] ?? 1);
      for (let k = column; k <= size; k += 1) row[k] = (row[k] ?? 0) - factor * (pivot[k] ?? 0);
    }
  }
  return rows.map((row, i) => (row[size] ?? 0) / (row[i] ?? 1));
}
