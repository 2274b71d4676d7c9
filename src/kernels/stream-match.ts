// Builds AltUp's streams from projections, and averages them at the end.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';
import { STREAMS } from './stream-router.ts';
import { rowLanes } from './wide-row.ts';

/** x and three projections of it [rows, columns], brought to its root mean square, → [rows, 4 · columns] */
export function streamsOf(x: Tensor, projections: readonly Tensor[]): Tensor {
  return match(x, projections, false);
}

/** The first of streams [rows, 4 · columns] and projections of the others [rows, columns], brought to its root mean square, → their mean, [rows, columns] */
export function meanOfStreams(streams: Tensor, projections: readonly Tensor[]): Tensor {
  return match(streams, projections, true);
}

function match(like: Tensor, projections: readonly Tensor[], mean: boolean): Tensor {
  const columns = mean ? like.columns / STREAMS : like.columns;
  const [second, third, fourth, ...more] = projections;
  const isEqual = projections.every((one) => one.columns === columns);
  if (columns % 32 !== 0 || !second || !third || !fourth || more.length > 0 || !isEqual)
    throw new Error(
      `streams: projections of ${projections.map((one) => one.columns).join(', ')} columns beside ${columns}; three and a multiple of 32 are wanted`,
    );
  const tape = tapeOf(like);
  const y = tape.tensor([...like.shape.slice(0, -1), mean ? columns : STREAMS * columns]);
  dispatchRows('stream-match.wgsl', {
    strips: { like, second, third, fourth, y },
    params: { ...rowLanes(tape, columns / 4), MEAN: mean },
    args: { quads: columns / 4, like_stride: like.stride / 4 },
  });
  return y;
}
