// Sums of what a time step gives and a table of a block: the modulation of diffusion transformers with one network for all blocks.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

/** x [items, n · columns] or [items, columns], which is repeated, plus table [n, columns] → [items, n · columns] */
export function addTable(x: Tensor, table: Tensor): Tensor {
  const tape = tapeOf(x);
  const rows = table.rows({});
  const columns = table.columns;
  if (x.columns !== columns && x.columns !== rows * columns)
    throw new Error(`addTable: [${x.shape.join(', ')}] and [${table.shape.join(', ')}]`);
  const y = tape.tensor([...x.shape.slice(0, -1), rows * columns]);
  const values = y.rows({}) * y.stride;
  tape.dispatch('add-table.wgsl', {
    args: {
      columns,
      x_columns: x.columns,
      y_columns: y.columns,
      x_stride: x.stride,
      table_stride: table.stride,
      y_stride: y.stride,
      values,
    },
    bind: { x, table, y },
    groups: () => walkers(tape, values),
  });
  return y;
}
