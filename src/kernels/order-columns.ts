// Columns in another order: inputs of a matrix whose weights are stored group by group.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 64;

/** y[row, i] = x[row, order[i]]; x [rows, …], order u32 [1, columns], a multiple of 32 → [rows, columns] */
export function orderColumns(x: Tensor, order: Tensor): Tensor {
  if (order.stride !== order.columns)
    throw new Error(`orderColumns: an order of ${order.columns} columns, which is not a multiple of 32`);
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), order.columns]);
  const quads = y.stride / 4;
  const args = { quads, stride: x.stride };
  dispatchRows('order-columns.wgsl', {
    strips: { x, y },
    args,
    bind: { order },
    across: Math.ceil(quads / WORKGROUP),
  });
  return y;
}
