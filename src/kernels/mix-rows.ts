// Mixtures of a table's rows, with which learned positions are interpolated.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** x [n, columns], sources u32 [rows, taps] and shares f32 [rows, taps] → [rows, columns]: the sum of the sources' rows by their shares. */
export function mixRows(x: Tensor, sources: Tensor, shares: Tensor): Tensor {
  if (sources.shape.join() !== shares.shape.join())
    throw new Error(
      `mixRows: sources of [${sources.shape.join(', ')}], shares of [${shares.shape.join(', ')}]`,
    );
  const y = tapeOf(x).tensor([...sources.shape.slice(0, -1), x.columns]);
  const quads = x.stride / 4;
  const taps = { taps: sources.columns, tap_stride: sources.stride };
  dispatchQuads('mix-rows.wgsl', {
    strips: { y, sources, shares },
    args: (_, rows) => ({ quads, all_quads: rows * quads, ...taps }),
    bind: { x },
    quads,
  });
  return y;
}
