// Adds the Kronecker product of two matrices to rows of a matrix of f32.

import type { Tape } from '../gpu/tape.ts';
import type { FloatRows } from './lora-product.ts';
import { spread } from './walkers.ts';

/** y += scale · (left ⊗ right), from row `firstRow` of the product on; a `left` of one value adds `right`. */
export function loraKronecker(
  tape: Tape,
  y: FloatRows,
  left: FloatRows,
  right: FloatRows,
  { scale, firstRow = 0 }: { scale: number; firstRow?: number },
): void {
  const groups = spread(tape, y.rows * y.columns);
  tape.dispatch('lora-kronecker.wgsl', {
    args: {
      rows: y.rows,
      columns: y.columns,
      first_row: firstRow,
      left_columns: left.columns,
      right_rows: right.rows,
      right_columns: right.columns,
      across: 64 * groups[0],
      scale,
    },
    bind: { left: left.region, right: right.region, y: y.region },
    groups: () => groups,
  });
}
