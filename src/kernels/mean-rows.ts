// Pools texts: the mean of each text's rows, or a single row.

import { tapeOf } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';

const WORKGROUP = 32;

/** x [rows, columns]; ranges (first row, rows)[sampled] in u32 → [sampled, columns] */
export function meanRows(x: Tensor, ranges: Region): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(['sampled', x.columns]);
  const quads = x.stride / 4;
  tape.dispatch('mean-rows.wgsl', {
    args: { quads },
    bind: { x, ranges, y },
    groups: (sizes) => [Math.ceil(quads / WORKGROUP), y.rows(sizes)],
  });
  return y;
}
