// Inpainting with a denoiser that was not made for it: the region outside of the mask is restored after each step.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

/** The source image at a noise level: scalars[image] · image + scalars[noise] · noise. */
export interface Known {
  image: Tensor;
  noise: Tensor;
  scalars: Operand;
  imageScalar: number;
  noiseScalar: number;
}

/** latents [batch, h, w, c] where mask [batch, h, w, 1] is 1, the known image where it is 0, in place */
export function blend(latents: Tensor, mask: Tensor, known: Known): Tensor {
  const tape = tapeOf(latents);
  const quads = (latents.rows({}) * latents.stride) / 4;
  const { image, noise, scalars, imageScalar, noiseScalar } = known;
  tape.dispatch('blend.wgsl', {
    args: {
      quads,
      row_quads: latents.stride / 4,
      mask_stride: mask.stride,
      image_scalar: imageScalar,
      noise_scalar: noiseScalar,
    },
    bind: { image, noise, mask, scalars, latents },
    groups: () => walkers(tape, quads),
  });
  return latents;
}
