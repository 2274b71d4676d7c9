// Products of columns, value by value.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';

const WORKGROUP = 64;

/** a · b over `columns` columns of each; a and b [rows, …] → [rows, columns] */
export function multiply(a: Tensor | Columns, b: Tensor | Columns, columns: number): Tensor {
  const [left, right] = [quadsOf(a), quadsOf(b)];
  const tape = tapeOf(left.x);
  const y = tape.tensor([...left.x.shape.slice(0, -1), columns]);
  const quads = y.stride / 4;
  tape.dispatch('multiply.wgsl', {
    args: {
      columns,
      quads,
      a_stride: left.stride,
      a_first: left.first,
      b_stride: right.stride,
      b_first: right.first,
    },
    bind: { a: left.x, b: right.x, y },
    groups: (sizes) => [Math.ceil(quads / WORKGROUP), y.rows(sizes)],
  });
  return y;
}
