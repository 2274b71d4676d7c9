// RMSNorm of some of each row's columns: all query heads together, or all key heads.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';
import { rowKernel } from './wide-row.ts';

const KERNELS = { narrow: 'rmsnorm-columns.wgsl', wide: 'rmsnorm-columns-wide.wgsl' };

/** x = x / sqrt(mean(x²) + eps) · weight + addend in place, of the weight's columns from `first` on; x and addend [rows, columns] → x */
export function rmsnormColumns(
  x: Tensor,
  first: number,
  weight: Tensor,
  eps: number,
  addend: Tensor | null = null,
): Tensor {
  if (first % 4 !== 0 || weight.columns % 4 !== 0 || first + weight.columns > x.columns)
    throw new Error(
      `rmsnorm: ${weight.columns} columns from ${first} on, of ${x.columns}: multiples of 4 within x are wanted`,
    );
  const kernel = rowKernel(tapeOf(x), KERNELS, weight.columns / 4);
  dispatchRows(kernel.shader, {
    strips: addend ? { x, addend } : { x },
    params: { ...kernel.params, ADDEND: addend ? 'columns' : 'none' },
    args: { stride: x.stride / 4, first: first / 4, quads: weight.columns / 4, eps },
    bind: { weight },
  });
  return x;
}
