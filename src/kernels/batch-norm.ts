// Normalizes channels by statistics of the training, and back.

import { tapeOf } from '../gpu/tape.ts';
import type { Extent, Tensor } from '../gpu/tensor.ts';
import { stripsOf } from './row-strips.ts';
import { walkers } from './walkers.ts';

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
  const tape = tapeOf(x);
  const y = tape.tensor([...shape, columns]);
  if (columns > x.columns || variance.columns !== columns || y.rows({}) !== x.rows({}))
    throw new Error(`batchNorm: [${x.shape.join(', ')}] to [${y.shape.join(', ')}]`);
  for (const strip of stripsOf(tape, [x, y], Infinity)) {
    const quads = (strip.count({}) * y.stride) / 4;
    tape.dispatch('batch-norm.wgsl', {
      params: { UNDO: undo },
      args: { x_quads: x.stride / 4, y_quads: y.stride / 4, columns, all_quads: quads, eps },
      bind: { x: strip.of(x), mean, variance, y: strip.of(y) },
      groups: () => walkers(tape, quads),
    });
  }
  return y;
}
