// Squared lengths of the rows of a matrix of f32, or of the weights of each of its inputs.

import type { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import type { FloatRows } from './lora-product.ts';
import { spread } from './walkers.ts';

/** f32: one for each row of `x` in place of what is there; with `byInput`, one for each input, added to what is there. */
export function loraSquares(
  tape: Tape,
  x: FloatRows,
  squares: Region,
  byInput: { taps: number } | null,
): void {
  const taps = byInput?.taps ?? 1;
  const parts = byInput ? x.columns / taps : x.rows;
  tape.dispatch('lora-squares.wgsl', {
    params: { BY_INPUT: byInput !== null },
    args: { rows: x.rows, columns: x.columns, taps },
    bind: { x: x.region, squares },
    groups: () => spread(tape, parts, 1),
  });
}
