// Terms of attention by the places of queries and keys in a grid, as `attend` adds them (SAM's decomposed relative positions).

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';
import { dispatchQuads } from './row-strips.ts';

/** Rows and columns of the grid whose cells are the tokens of an item, row by row. */
export interface PlaceGrid {
  rows: number;
  columns: number;
}

/** Of n rows, row i is for a query that lies i − (n − 1) / 2 rows of the grid below a key, or columns to the right of it. */
export interface PlaceTables {
  down: Tensor;
  across: Tensor;
}

/**
 * q [items, rows · columns, …], heads of which `dims` columns meet tables of 2 · rows − 1 and 2 · columns − 1 rows; those of other sizes are resized
 * to that, linearly. → [items, rows · columns, heads · (rows + columns)]: of each head a term for every row in which keys lie, then for every
 * column
 */
export function placeTerms(
  q: Columns,
  { down, across }: PlaceTables,
  { heads, dims, grid }: { heads: number; dims: number; grid: PlaceGrid },
): Tensor {
  const { rows, columns } = grid;
  const { x, stride, first } = quadsOf(q);
  const isWhole = x.rows({}) % (rows * columns) === 0 && dims % 4 === 0;
  if (!isWhole || down.columns !== dims || across.columns !== dims)
    throw new Error(
      `placeTerms: [${x.shape.join(', ')}] in heads of ${dims} for ${rows} × ${columns} places, tables of ${down.columns} and ${across.columns}`,
    );
  const terms = heads * (rows + columns);
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), terms]);
  const quads = y.stride / 4;
  dispatchQuads('place-terms.wgsl', {
    strips: { y, q: x },
    args: (strip, count) => ({
      quads,
      all_quads: count * quads,
      terms,
      first_row: strip.firstRow,
      head_quads: dims / 4,
      q_quads: stride,
      q_first: first,
      rows,
      columns,
      places_down: down.rows({}),
      places_across: across.rows({}),
      down_quads: down.stride / 4,
      across_quads: across.stride / 4,
    }),
    bind: { down, across },
    quads,
  });
  return y;
}
