// Pictures to bytes: red, green, blue, alpha, a word a pixel.

import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import { stripsOf } from './row-strips.ts';

const WORKGROUP = 64;

/** x [items, height, width, 3] in -1 … 1 → u32 [items, height, width], rounded, alpha 255 */
export function toPixels(x: Tensor): Tensor {
  const tape = tapeOf(x);
  if (x.columns !== 3) throw new Error(`toPixels: [${x.shape.join(', ')}] has not three channels`);
  const y = tape.tensor(x.shape.slice(0, -1), 'u32');
  for (const strip of stripsOf(tape, [x])) {
    const pixels = strip.count(tape.capacity);
    tape.dispatch('to-pixels.wgsl', {
      args: { first: strip.firstRow, pixels, width: y.columns, x_stride: x.stride, y_stride: y.stride },
      bind: { x: strip.of(x), y },
      groups: () => [Math.min(Math.ceil(pixels / WORKGROUP), tape.device.capabilities.maxWorkgroups)],
    });
  }
  return y;
}
