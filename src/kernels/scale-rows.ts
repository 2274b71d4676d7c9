// Rows by a number each: emphasis on tokens.

import type { Operand } from '../gpu/tape.ts';
import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import { walkers } from './repeat.ts';

/** x [rows, columns] · weights f32 [rows] → [rows, columns] */
export function scaleRows(x: Tensor, weights: Operand): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const quads = x.stride / 4;
  tape.dispatch('scale-rows.wgsl', {
    args: { quads, all_quads: x.rows({}) * quads },
    bind: { x, weights, y },
    groups: () => walkers(tape, x.rows({}) * quads),
  });
  return y;
}
