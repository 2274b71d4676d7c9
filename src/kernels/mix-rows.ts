// Mixtures of a table's rows, with which learned positions are interpolated.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';
import { stripsOf } from './row-strips.ts';

/** x [n, columns], sources u32 [rows, taps] and shares f32 [rows, taps] → [rows, columns]: the sum of the sources' rows by their shares. */
export function mixRows(x: Tensor, sources: Tensor, shares: Tensor): Tensor {
  if (sources.shape.join() !== shares.shape.join())
    throw new Error(
      `mixRows: sources of [${sources.shape.join(', ')}], shares of [${shares.shape.join(', ')}]`,
    );
  const tape = tapeOf(x);
  const y = tape.tensor([...sources.shape.slice(0, -1), x.columns]);
  const quads = x.stride / 4;
  for (const strip of stripsOf(tape, [y, sources, shares], Infinity)) {
    const allQuads = strip.count({}) * quads;
    tape.dispatch('mix-rows.wgsl', {
      args: { quads, all_quads: allQuads, taps: sources.columns, tap_stride: sources.stride },
      bind: { x, sources: strip.of(sources), shares: strip.of(shares), y: strip.of(y) },
      groups: () => walkers(tape, allQuads),
    });
  }
  return y;
}
