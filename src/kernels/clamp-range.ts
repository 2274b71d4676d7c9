// Clamps values to a range that a checkpoint holds.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { Activation } from './activation.ts';
import { dispatchQuads } from './row-strips.ts';

/** Tensors of one value each; infinities are allowed. */
export interface ValueRange {
  low: Tensor;
  high: Tensor;
}

/** activation(x clamped to the range); x [rows, columns] → [rows, columns] */
export function clampRange(
  x: Tensor,
  { low, high }: ValueRange,
  activation: Activation | 'none' = 'none',
): Tensor {
  const y = tapeOf(x).tensor(x.shape);
  const quads = x.stride / 4;
  dispatchQuads('clamp-range.wgsl', {
    strips: { x, y },
    params: { ACTIVATION: activation },
    args: (_, rows) => ({ quads: rows * quads }),
    bind: { low, high },
    quads,
  });
  return y;
}
