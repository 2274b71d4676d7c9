// Pools texts: the mean of each text's rows, or a single row.

import { tapeOf } from '../gpu/tape.ts';
import type { Extent, Region, Tensor } from '../gpu/tensor.ts';

const WORKGROUP = 32;

/** x [rows, columns]; ranges (first row, rows)[count] in u32 → [count, columns]; `count` left out: those that a step samples */
export function meanRows(x: Tensor, ranges: Region, count: Extent = 'sampled'): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor([count, x.columns]);
  const quads = x.stride / 4;
  tape.dispatch('mean-rows.wgsl', {
    args: { quads },
    bind: { x, ranges, y },
    groups: (sizes) => [Math.ceil(quads / WORKGROUP), y.rows(sizes)],
  });
  return y;
}
