// A quick look at latents: each becomes one pixel by a linear map.

import type { Operand } from '../gpu/tape.ts';
import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import { walkers } from './repeat.ts';

/** x [1, h, w, c], factors f32 [c + 1][4] (red, green, blue of each channel, then the offset) → [1, h, w, 3] in -1 … 1 */
export function latentColours(x: Tensor, factors: Operand): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor([...x.shape.slice(0, -1), 3]);
  const pixels = x.rows({});
  tape.dispatch('latent-colours.wgsl', {
    args: { pixels, channels: x.columns, x_stride: x.stride, y_quads: y.stride / 4 },
    bind: { x, factors, y },
    groups: () => walkers(tape, pixels),
  });
  return y;
}
