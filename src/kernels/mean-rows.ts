// Texts pooled: the mean of each one's rows, which is a row itself where it is of one.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

const WORKGROUP = 32;

/** x [rows, columns]; ranges u32 [2 · items], first row and number of rows of each → [items, columns] */
export function meanRows(x: Tensor, ranges: Tensor): Tensor {
  const tape = tapeOf(x);
  const items = ranges.columns / 2;
  const y = tape.tensor([items, x.columns]);
  const quads = x.stride / 4;
  tape.dispatch('mean-rows.wgsl', {
    args: { quads },
    bind: { x, ranges, y },
    groups: () => [Math.ceil(quads / WORKGROUP), items],
  });
  return y;
}
