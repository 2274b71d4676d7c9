// Matrices of an attention that read one tensor, as one matrix.

import type { Matrix } from '../../kernels/matrix.ts';
import type { WeightTable } from '../weights.ts';

/** Queries, keys and values, or keys and values, side by side; `rows`: of each, `k`: columns of what they read. */
export function projections(
  weights: WeightTable,
  attention: string,
  parts: 'qkv' | 'kv',
  [rows, k]: readonly [rows: number, k: number],
  options: Parameters<WeightTable['stacked']>[2] = { split: 'columns' },
): Matrix {
  const names = parts.split('').map((part) => ({ name: `${attention}.to_${part}.weight`, rows }));
  return weights.stacked(names, k, options);
}
