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
  /** Whether `variance` holds deviations, its roots, to which no eps is added. */
  areDeviations?: boolean;
}

/**
 * (x − mean) / √(variance + eps); x [rows, n] → [...shape, channels], of the same rows. Columns of x behind those of the statistics are
 * left out.
 */
export function batchNorm(x: Tensor, statistics: Statistics, shape = x.shape.slice(0, -1)): Tensor {
  return record(x, statistics, shape, {});
}

/** x · √(variance + eps) + mean; x [rows, channels] → [...shape, channels], of the same rows */
export function undoBatchNorm(x: Tensor, statistics: Statistics, shape = x.shape.slice(0, -1)): Tensor {
  return record(x, statistics, shape, { UNDO: true });
}

/** Logarithms of variances of what batchNorm gives, from those of x; [rows, channels] → the same shape */
export function batchNormLogarithms(x: Tensor, statistics: Statistics): Tensor {
  return record(x, statistics, x.shape.slice(0, -1), { LOGARITHMS: true });
}

function record(
  x: Tensor,
  { mean, variance, eps, areDeviations = false }: Statistics,
  shape: readonly Extent[],
  params: { UNDO?: boolean; LOGARITHMS?: boolean },
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
    params: { ...params, DEVIATIONS: areDeviations },
    args: (_, rows) => ({ ...shared, all_quads: rows * shared.y_quads }),
    bind: { mean, variance },
    quads: shared.y_quads,
  });
  return y;
}
