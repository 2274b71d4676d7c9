// Converts bytes to images: red, green and blue of one word per pixel.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { bandsOf } from './row-strips.ts';
import { walkers } from './walkers.ts';

/** x u32 [items, height, width] → [items, height, width, 3] in -1 … 1, or in 0 … 1 unless they are centred */
export function fromPixels(x: Tensor, { centred = true }: { centred?: boolean } = {}): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor([...x.shape, 3]);
  for (const { first, pixels, image, perPixel } of bandsOf(tape, x, y)) {
    const quads = (pixels * y.stride) / 4;
    tape.dispatch('from-pixels.wgsl', {
      params: { CENTRED: centred },
      args: {
        first,
        pixels,
        width: x.columns,
        x_stride: x.stride,
        y_quads: y.stride / 4,
      },
      bind: { x: image, y: perPixel },
      groups: () => walkers(tape, quads),
    });
  }
  return y;
}
