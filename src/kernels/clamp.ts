// Clamps values to a range.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** x clamped to ±range. */
export function clampTo(x: Tensor, range: number): Tensor {
  const y = tapeOf(x).tensor(x.shape);
  const quads = x.stride / 4;
  dispatchQuads('clamp.wgsl', {
    strips: { x, y },
    args: (_, rows) => ({ quads: rows * quads, range }),
    quads,
  });
  return y;
}
