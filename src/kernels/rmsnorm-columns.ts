// RMSNorm of some of each row's columns: all query heads together, or all key heads.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

/** x = x / sqrt(mean(x²) + eps) · weight in place, of the weight's columns from `first` on; x [rows, columns] → x */
export function rmsnormColumns(x: Tensor, first: number, weight: Tensor, eps: number): Tensor {
  if (first % 4 !== 0 || weight.columns % 4 !== 0 || first + weight.columns > x.columns)
    throw new Error(`rmsnorm: ${weight.columns} columns from ${first} on, of ${x.columns}`);
  tapeOf(x).dispatch('rmsnorm-columns.wgsl', {
    args: { stride: x.stride / 4, first: first / 4, quads: weight.columns / 4, eps },
    bind: { x, weight },
    groups: (sizes) => [x.rows(sizes)],
  });
  return x;
}
