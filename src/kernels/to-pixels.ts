// Converts images to bytes: red, green, blue and alpha in one word per pixel.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { bandsOf } from './row-strips.ts';
import { walkers } from './walkers.ts';

/**
 * x [items, height, width, 3] in -1 … 1 → u32 [items, height, width], rounded, alpha 255. `notFinite` (u32 [1]) becomes 1 if a
 * value is not finite, and is unchanged otherwise.
 */
export function toPixels(x: Tensor, notFinite: Operand): Tensor {
  const tape = tapeOf(x);
  if (x.columns !== 3) throw new Error(`toPixels: [${x.shape.join(', ')}] has not three channels`);
  const y = tape.tensor(x.shape.slice(0, -1), 'u32');
  for (const { first, pixels, image, perPixel } of bandsOf(tape, y, x)) {
    tape.dispatch('to-pixels.wgsl', {
      args: { first, pixels, width: y.columns, x_stride: x.stride, y_stride: y.stride },
      bind: { x: perPixel, y: image, not_finite: notFinite },
      groups: () => walkers(tape, pixels),
    });
  }
  return y;
}
