// Previews of latents: each latent becomes a square of pixels by a linear map.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

/**
 * x [frames, h, w, c], factors f32 [c + 1][side][side][4] (red, green, blue of each channel at each pixel, then the offset) →
 * [frames, side · h, side · w, 3] in -1 … 1
 */
export function latentColours(x: Tensor, factors: Operand, side: number): Tensor {
  const tape = tapeOf(x);
  const [frames, height, width] = x.shape as number[];
  const y = tape.tensor([frames!, side * height!, side * width!, 3]);
  const pixels = y.rows({});
  tape.dispatch('latent-colours.wgsl', {
    args: { width: width!, pixels, side, channels: x.columns, x_stride: x.stride, y_quads: y.stride / 4 },
    bind: { x, factors, y },
    groups: () => walkers(tape, pixels),
  });
  return y;
}
