// Adds a table to each item of a batch: learned positions, where no product can begin with them.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { cutPixels, fits, view, type View } from './pixels.ts';
import { walkers } from './walkers.ts';

/** x += table, in place; x [items, n, columns], table [n or more, columns] → x */
export function addRows(x: Tensor, table: Tensor): Tensor {
  const n = x.shape[1] as number;
  if (x.shape.length !== 3 || table.columns !== x.columns || table.rows({}) < n)
    throw new Error(
      `addRows: [${table.shape.join(', ')}] to [${x.shape.join(', ')}]: a row for each token, of equal columns, is wanted`,
    );
  const tape = tapeOf(x);
  const items = x.shape[0] as number;
  const record = (x0: View, table0: View, first: number, firstOfItem: number, rows: number): void => {
    const quads = x.stride / 4;
    tape.dispatch('add-rows.wgsl', {
      args: {
        quads,
        all_quads: rows * quads,
        x_row: first - x0.first,
        table_row: firstOfItem - table0.first,
        item_rows: n,
      },
      bind: { table: table0.operand, x: x0.operand },
      groups: () => walkers(tape, rows * quads),
    });
  };
  if (fits(tape, x) && fits(tape, table)) {
    record({ operand: x, first: 0 }, { operand: table, first: 0 }, 0, 0, items * n);
    return x;
  }
  for (let item = 0; item < items; item++) {
    for (const range of cutPixels(tape, { first: 0, last: n }, [x, table])) {
      const own = { first: item * n + range.first, last: item * n + range.last };
      record(view(tape, x, own), view(tape, table, range), own.first, range.first, range.last - range.first);
    }
  }
  return x;
}
