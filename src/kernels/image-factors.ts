// Factors of images in f16, for convolutions on matrix units. Taps add up pixels, so that all pixels of an image share one: a power of two with which
// none of them becomes infinite, and which depends on no other image.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { slabParts, slabsOf } from './image-parts.ts';
import { imageShape } from './pixels.ts';

/** By the largest magnitude of each image; x [batch, height, width, channels] → [batch, the factor and the one that undoes it] */
export function imageFactors(x: Tensor): Tensor {
  const tape = tapeOf(x);
  const [batch, height, width] = imageShape(x);
  const pixels = height * width;
  const { slabPixels, slabs } = slabsOf(pixels);
  const largest = tape.tensor([batch, slabs]);
  for (const part of slabParts(x, slabPixels)) {
    tape.dispatch('image-largest.wgsl', {
      args: {
        quads: x.stride / 4,
        pixels,
        slab_pixels: slabPixels,
        y_stride: largest.stride,
        first_image: part.image,
        first_slab: part.first / slabPixels,
        x_first: part.x.first,
      },
      bind: { x: part.x.operand, y: largest },
      groups: () => [Math.ceil((part.last - part.first) / slabPixels), part.images],
    });
  }
  const y = tape.tensor([batch, 2]);
  tape.dispatch('image-factors.wgsl', {
    args: { slabs, x_stride: largest.stride },
    bind: { x: largest, y },
    groups: () => [batch],
  });
  return y;
}

/**
 * By what the results of a norm of x cannot exceed. `together`: values that are normalized together; divided by their deviation, each is at most
 * the root of their number.
 */
export function normFactors(
  x: Tensor,
  { weight, bias, together }: { weight?: Tensor | undefined; bias?: Tensor | undefined; together: number },
): Tensor {
  const tape = tapeOf(x);
  const [batch] = imageShape(x);
  const y = tape.tensor([batch, 2]);
  tape.dispatch('norm-factors.wgsl', {
    params: { WEIGHT: weight ? 'multiply' : 'none', BIAS: bias ? 'add' : 'none' },
    args: { quads: x.stride / 4, root: Math.sqrt(together) },
    bind: { y, ...(weight && { weight }), ...(bias && { bias }) },
    groups: () => [batch],
  });
  return y;
}
