// Columns of a tensor that holds several things side by side, as a tensor of their own.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';
import { dispatchQuads } from './row-strips.ts';

/** `columns` columns of each row; of.x [rows, …] → [rows, columns] */
export function takeColumns(of: Columns, columns: number): Tensor {
  const { x, stride, first } = quadsOf(of);
  if (of.first + columns > x.columns)
    throw new Error(`takeColumns: ${columns} from ${of.first} on, of ${x.columns}`);
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), columns]);
  const quads = y.stride / 4;
  dispatchQuads('take-columns.wgsl', {
    strips: { x, y },
    args: (_, rows) => ({ columns, quads, stride, first, all_quads: rows * quads }),
    quads,
  });
  return y;
}
