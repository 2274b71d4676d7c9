// Residual sum of diffusion transformers (AdaLN-Zero): a block's output times a gate per item of the batch, added to its input.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, rowsPerItem, type Columns } from './columns.ts';
import { stripsOf } from './row-strips.ts';

const WORKGROUP = 64;

/** residual += gate · x, in place; x and residual [items, n, columns], gate [items, columns] → residual */
export function gatedAdd(x: Tensor, gate: Tensor | Columns, residual: Tensor): Tensor {
  const gates = quadsOf(gate);
  const quads = x.stride / 4;
  if (x.shape.join() !== residual.shape.join() || 4 * gates.first + x.columns > gates.x.columns)
    throw new Error(`gatedAdd: [${x.shape.join()}] to [${residual.shape.join()}]`);
  const tape = tapeOf(x);
  for (const strip of stripsOf(tape, [x, residual], Infinity)) {
    const rows = strip.count({});
    const groups = Math.ceil((rows * quads) / WORKGROUP);
    tape.dispatch('gated-add.wgsl', {
      args: {
        quads,
        columns: x.columns,
        all_quads: rows * quads,
        first_row: strip.firstRow,
        item_rows: rowsPerItem(x, gates.x),
        gate_quads: gates.stride,
        gate_first: gates.first,
      },
      bind: { x: strip.of(x), gate: gates.x, y: strip.of(residual) },
      groups: () => [Math.min(groups, tape.device.capabilities.maxWorkgroups)],
    });
  }
  return residual;
}
