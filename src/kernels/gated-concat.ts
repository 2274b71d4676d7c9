// A gated unit behind other columns, for blocks whose attention and feed-forward part share one projection back.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';
import { stripsOf } from './row-strips.ts';
import { spread } from './walkers.ts';

/**
 * Columns of a, then silu(gate) · value: `gated` begins with the `columns` columns of the gate, and those of the value follow; a
 * [rows, n] → [rows, n + columns] in a's shape. Rows are fixed numbers; n and `columns` are multiples of 4.
 */
export function gatedConcat(a: Tensor, gated: Columns, columns: number): Tensor {
  const tape = tapeOf(a);
  const { x, stride, first } = quadsOf(gated);
  const fits = a.columns % 4 === 0 && columns % 4 === 0 && gated.first + 2 * columns <= x.columns;
  if (!fits || x.rows({}) !== a.rows({}))
    throw new Error(
      `gatedConcat: [${a.shape.join(', ')}] and ${columns} of [${x.shape.join(', ')}]: equal rows, and multiples of 4 within x`,
    );
  const y = tape.tensor([...a.shape.slice(0, -1), a.columns + columns]);
  for (const strip of stripsOf(tape, [a, x, y], Infinity)) {
    const rows = strip.count({});
    tape.dispatch('gated-concat.wgsl', {
      args: {
        a_columns: a.columns / 4,
        b_columns: columns / 4,
        a_quads: a.stride / 4,
        x_quads: stride,
        first,
        y_quads: y.stride / 4,
        rows,
      },
      bind: { a: strip.of(a), x: strip.of(x), y: strip.of(y) },
      groups: () => spread(tape, (rows * y.stride) / 4),
    });
  }
  return y;
}
