// Rows that grow with their positions.

import type { Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { QueryGrowth } from './batch.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 64;

/** x = x · growth of the row, in place; x [rows, columns], `rows` as TextBatch has them → x */
export function growRows(x: Tensor, { beta, length, first = 0 }: QueryGrowth, rows: Operand): Tensor {
  const quads = x.stride / 4;
  dispatchRows('grow-rows.wgsl', {
    strips: { x },
    bind: { rows },
    args: ({ firstRow }) => ({
      quads,
      first_row: firstRow,
      growth: beta,
      growth_first: first,
      growth_length: length,
    }),
    across: Math.ceil(quads / WORKGROUP),
  });
  return x;
}
