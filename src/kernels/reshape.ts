// Moves values into another shape, in their order; rows of both are padded differently.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

/** The same values, row by row, in another shape; all extents are fixed numbers. */
export function reshape(x: Tensor, shape: readonly number[]): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor([...shape]);
  const rows = y.rows({});
  if (rows * y.columns !== x.rows({}) * x.columns)
    throw new Error(
      `reshape: [${x.shape.join(', ')}] to [${shape.join(', ')}], which have different numbers of values`,
    );
  const values = rows * y.stride;
  tape.dispatch('reshape.wgsl', {
    args: {
      values,
      columns: y.columns,
      stride: y.stride,
      x_columns: x.columns,
      x_stride: x.stride,
    },
    bind: { x, y },
    groups: () => walkers(tape, values),
  });
  return y;
}
