// Multiplies each row by a number, for emphasis on tokens.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';
import { stripsOf } from './row-strips.ts';

/** x [rows, columns] · weights f32 [rows] → [rows, columns]; rows are fixed numbers */
export function scaleRows(x: Tensor, weights: Operand): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const quads = x.stride / 4;
  for (const strip of stripsOf(tape, [x, y], Infinity)) {
    const rows = strip.count({});
    tape.dispatch('scale-rows.wgsl', {
      args: { quads, all_quads: rows * quads, first_row: strip.firstRow },
      bind: { x: strip.of(x), weights, y: strip.of(y) },
      groups: () => walkers(tape, rows * quads),
    });
  }
  return y;
}
