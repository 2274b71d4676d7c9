// Products whose inputs are divided among devices: each multiplies its own columns of x, and the products are added by way of host memory.

import type { Tensor } from '../gpu/tensor.ts';
import type { RankSums } from './batch.ts';
import { linear, linearAdd } from './matmul.ts';
import type { Matrix } from './matrix.ts';
import { sumParts } from './sum-parts.ts';

/**
 * residual + x · Wᵀ; x [rows, k of this device], residual [rows, columns] → [rows, columns]. Without `sums` in place. With them the matrix has
 * no bias, which each device would add, and all devices get the same bits.
 */
export function linearAddSummed(
  x: Tensor,
  weight: Matrix,
  residual: Tensor,
  sums: RankSums | undefined,
): Tensor {
  if (!sums) return linearAdd(x, weight, residual);
  const own = sums.rank === 0 ? linearAdd(x, weight, residual) : linear(x, weight);
  return sumParts(own, sums);
}
