// Adds a norm to AltUp's streams 1 to 3.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';
import { streamColumns } from './stream-router.ts';
import { rowLanes } from './wide-row.ts';

/** stream[q] += rmsnorm(x, weight, eps) for q > 0, in place; streams [rows, 4 · columns], x [rows, columns], weight [columns] → streams */
export function streamAdd(streams: Tensor, x: Tensor, weight: Tensor, eps: number): Tensor {
  const columns = streamColumns(streams);
  if (x.columns !== columns) throw new Error(`streamAdd: ${x.columns} columns for streams of ${columns}`);
  dispatchRows('stream-add.wgsl', {
    strips: { x, streams },
    params: rowLanes(tapeOf(x), columns / 4),
    args: { quads: columns / 4, eps },
    bind: { weight },
  });
  return streams;
}
