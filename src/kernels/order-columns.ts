// Columns in another order: inputs of a matrix whose weights are stored group by group.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { stripsOf } from './row-strips.ts';

const WORKGROUP = 64;

/** y[row, i] = x[row, order[i]]; x [rows, …], order u32 [1, columns], a multiple of 32 → [rows, columns] */
export function orderColumns(x: Tensor, order: Tensor): Tensor {
  if (order.stride !== order.columns)
    throw new Error(`orderColumns: an order of ${order.columns} columns, which is no multiple of 32`);
  const tape = tapeOf(x);
  const y = tape.tensor([...x.shape.slice(0, -1), order.columns]);
  const quads = y.stride / 4;
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch('order-columns.wgsl', {
      args: { quads, stride: x.stride },
      bind: { x: strip.of(x), order, y: strip.of(y) },
      groups: (sizes) => [Math.ceil(quads / WORKGROUP), strip.count(sizes)],
    });
  }
  return y;
}
