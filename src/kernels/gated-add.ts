// Residual sum of diffusion transformers (AdaLN-Zero): a block's output times a gate per item of the batch, added to its input.

import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, rowsPerItem, type Columns } from './columns.ts';
import { dispatchQuads } from './row-strips.ts';

/** residual += gate · x, in place; x and residual [items, n, columns], gate [items, columns] → residual */
export function gatedAdd(x: Tensor, gate: Tensor | Columns, residual: Tensor): Tensor {
  const gates = quadsOf(gate);
  const quads = x.stride / 4;
  if (x.shape.join() !== residual.shape.join() || 4 * gates.first + x.columns > gates.x.columns)
    throw new Error(
      `gatedAdd: [${x.shape.join()}] to [${residual.shape.join()}]: equal shapes, and a gate for each column, are wanted`,
    );
  const shared = {
    quads,
    columns: x.columns,
    item_rows: rowsPerItem(x, gates.x),
    gate_quads: gates.stride,
    gate_first: gates.first,
  };
  dispatchQuads('gated-add.wgsl', {
    strips: { x, y: residual },
    args: ({ firstRow }, rows) => ({ ...shared, all_quads: rows * quads, first_row: firstRow }),
    bind: { gate: gates.x },
    quads,
  });
  return residual;
}
