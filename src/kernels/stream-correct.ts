// AltUp behind a layer: all streams take what the layer changed of the first, by factors that a router takes from its output.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';
import { streamColumns, type StreamRouter } from './stream-router.ts';
import { rowLanes } from './wide-row.ts';

/**
 * stream[q] += (factors[q] · routes + 1) · (layer − stream[0]), in place; streams [rows, 4 · columns], layer [rows, columns], factors [4, 4], gain
 * [columns] → stream[0] · gain, [rows, columns]
 */
export function streamCorrect(
  streams: Tensor,
  layer: Tensor,
  { norm, matrix, eps }: StreamRouter,
  factors: Tensor,
  gain: Tensor,
): Tensor {
  const columns = streamColumns(streams);
  if (layer.columns !== columns)
    throw new Error(`streamCorrect: ${layer.columns} columns for streams of ${columns}`);
  const tape = tapeOf(streams);
  const scaled = tape.tensor(layer.shape);
  dispatchRows('stream-correct.wgsl', {
    strips: { streams, scaled, layer },
    params: rowLanes(tape, columns / 4),
    args: { quads: columns / 4, factor_quads: factors.stride / 4, eps },
    bind: { router_norm: norm, router: matrix, factors, gain },
  });
  return scaled;
}
