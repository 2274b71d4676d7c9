// Multiplies each row by a number, for emphasis on tokens.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** x [rows, columns] · weights f32 [rows] → [rows, columns]; rows are fixed numbers */
export function scaleRows(x: Tensor, weights: Operand): Tensor {
  const y = tapeOf(x).tensor(x.shape);
  const quads = x.stride / 4;
  dispatchQuads('scale-rows.wgsl', {
    strips: { x, y },
    args: ({ firstRow }, rows) => ({ quads, all_quads: rows * quads, first_row: firstRow }),
    bind: { weights },
    quads,
  });
  return y;
}
