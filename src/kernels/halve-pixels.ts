// Pixels in f16, as convolutions on matrix units read them.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { BLOCK } from './matrix-windows.ts';
import { imageShape, size, type Pixels, type Stored, type View } from './pixels.ts';

/** Pixels per workgroup. */
const PIXELS = 16;
/** Words of a block of f16. */
const BLOCK_WORDS = BLOCK / 2;

/** Room for pixels of x in f16. u32 [pixels, 16 · blocks]: pairs of f16, whose images are multiplied by their `factors` */
export function roomForHalves(tape: Tape, x: Tensor, pixels: Pixels, factors: Tensor): Stored {
  const operand = tape.tensor([size(pixels), Math.ceil(x.columns / BLOCK) * BLOCK_WORDS], 'u32');
  return { operand, first: pixels.first, stride: operand.stride, factors };
}

/** Rounds pixels of x, of which `from` is a view, to f16. `factors`: see image-factors.ts */
export function halvePixels(tape: Tape, x: Tensor, pixels: Pixels, from: View, factors: Tensor): Stored {
  const [, height, width] = imageShape(x);
  const to = roomForHalves(tape, x, pixels, factors);
  tape.dispatch('halve-pixels.wgsl', {
    args: {
      x_quads: x.stride / 4,
      quads: Math.ceil(x.columns / 4),
      y_quads: to.stride / 4,
      pixels: height * width,
      ...pixels,
      x_first: from.first,
      y_first: to.first,
    },
    bind: { x: from.operand, y: to.operand, factors },
    groups: () => [Math.ceil(size(pixels) / PIXELS)],
  });
  return to;
}
