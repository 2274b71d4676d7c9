// Normalizes channels by statistics of the training, and back.

import { tapeOf } from '../gpu/tape.ts';
import type { Extent, Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** Statistics of each channel. */
export interface Statistics {
  /** [channels] */
  mean: Tensor;
  variance: Tensor;
  eps: number;
}

/**
 * (x − mean) / √(variance + eps); x [rows, n] → [...shape, channels], of the same rows. Columns of x behind those of the statistics are
 * left out.
 */
export function batchNorm(x: Tensor, statistics: Statistics, shape = x.shape.slice(0, -1)): Tensor {
  return record(x, statistics, shape, false);
}

/** x · √(variance + eps) + mean; x [rows, channels] → [...shape, channels], of the same rows */
export function undoBatchNorm(x: Tensor, statistics: Statistics, shape = x.shape.slice(0, -1)): Tensor {
  return record(x, statistics, shape, true);
}

function record(
  x: Tensor,
  { mean, variance, eps }: Statistics,
  shape: readonly Extent[],
  undo: boolean,
): Tensor {
  const { columns } = mean;
  const y = tapeOf(x).tensor([...shape, columns]);
  if (columns > x.columns || variance.columns !== columns || y.rows({}) !== x.rows({}))
    throw new Error(
      `batchNorm: [${x.shape.join(', ')}] to [${y.shape.join(', ')}]: equal rows, and statistics of x’s first columns, are wanted`,
    );
  const shared = { x_quads: x.stride / 4, y_quads: y.stride / 4, columns, eps };
  dispatchQuads('batch-norm.wgsl', {
    strips: { x, y },
    params: { UNDO: undo },
    args: (_, rows) => ({ ...shared, all_quads: rows * shared.y_quads }),
    bind: { mean, variance },
    quads: shared.y_quads,
  });
  return y;
}
