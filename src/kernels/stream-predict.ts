// AltUp before a layer: streams are mixed by factors that a router takes from the first.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';
import { streamColumns, type StreamRouter } from './stream-router.ts';
import { rowLanes } from './wide-row.ts';

/** stream[q] += Σ (factors[4 q + p] · routes) · stream[p], in place; streams [rows, 4 · columns], factors [16, 4] → the first stream, [rows, columns] */
export function streamPredict(streams: Tensor, { norm, matrix, eps }: StreamRouter, factors: Tensor): Tensor {
  const columns = streamColumns(streams);
  const tape = tapeOf(streams);
  const leading = tape.tensor([...streams.shape.slice(0, -1), columns]);
  dispatchRows('stream-predict.wgsl', {
    strips: { streams, leading },
    params: rowLanes(tape, columns / 4),
    args: { quads: columns / 4, factor_quads: factors.stride / 4, eps },
    bind: { router_norm: norm, router: matrix, factors },
  });
  return leading;
}
