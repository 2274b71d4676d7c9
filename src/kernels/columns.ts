// Columns of a tensor that holds several things side by side: heads in a fused qkv, chunks of a modulation.

import type { Tensor } from '../gpu/tensor.ts';

export interface Columns {
  x: Tensor;
  /** The first column; a multiple of 4. */
  first: number;
}

/** The columns' first quad and the quads from one row to the next. */
export function quadsOf(columns: Tensor | Columns): { x: Tensor; stride: number; first: number } {
  const { x, first } = 'x' in columns ? columns : { x: columns, first: 0 };
  if (first % 4 !== 0 || first >= x.columns)
    throw new Error(`columns from ${first} on, of [${x.shape.join(', ')}], a multiple of 4 is wanted`);
  return { x, stride: x.stride / 4, first: first / 4 };
}

/** Rows of x that share a row of `perItem`; perItem [items, …]. */
export function rowsPerItem(x: Tensor, perItem: Tensor): number {
  const rows = x.rows({});
  const items = perItem.rows({});
  if (items === 0 || rows % items !== 0)
    throw new Error(`${rows} rows of [${x.shape.join(', ')}] cannot share ${items} rows evenly`);
  return rows / items;
}
