// cos and sin for the rows of a step, once for all layers.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';

const WORKGROUP = 32;

/** cos and sin of position · frequency by turns, times `scale`; → [rows, dims] */
export function rotations(tape: Tape, batch: TextBatch, dims: number, scale: number): Tensor {
  const y = tape.tensor(['rows', dims]);
  tape.dispatch('rotations.wgsl', {
    args: { half: dims / 2, y_pairs: y.stride / 2, scale },
    bind: { rows: batch.rows, turns: batch.turns, y },
    groups: (sizes) => [Math.ceil(y.stride / 2 / WORKGROUP), y.rows(sizes)],
  });
  return y;
}
