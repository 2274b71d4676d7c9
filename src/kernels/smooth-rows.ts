// Inputs of a matrix whose weights were quantized for smoothed inputs.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** y = (x + smooth[1]) · smooth[0]; x [rows, columns], smooth f32 [2, columns] → [rows, columns] */
export function smoothRows(x: Tensor, smooth: Tensor): Tensor {
  const y = tapeOf(x).tensor(x.shape);
  const quads = x.stride / 4;
  dispatchQuads('smooth-rows.wgsl', {
    strips: { x, y },
    args: (_, rows) => ({ quads, all_quads: rows * quads, shifts: smooth.stride / 4 }),
    bind: { smooth_rows: smooth },
    quads,
  });
  return y;
}
