// Clamps values to a range.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';
import { stripsOf } from './row-strips.ts';

/** x clamped to ±range. */
export function clampTo(x: Tensor, range: number): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  for (const strip of stripsOf(tape, [x, y], Infinity)) {
    const quads = (strip.count(tape.capacity) * x.stride) / 4;
    tape.dispatch('clamp.wgsl', {
      args: { quads, range },
      bind: { x: strip.of(x), y: strip.of(y) },
      groups: () => walkers(tape, quads),
    });
  }
  return y;
}
