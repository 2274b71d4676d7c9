// Scales latents between an autoencoder, which has a mean and a spread of its own, and a denoiser, which expects mean 0 and spread
// 1.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

/** latents of the denoiser = (latents of the autoencoder − shift) · scale */
export interface LatentScale {
  scale: number;
  shift: number;
}

/** A number for all channels, or one per channel. */
export type LatentScales = readonly LatentScale[];

/** moments [batch, h, w, 2 · c], means then logarithms of variances; noise [batch, h, w, c] → the denoiser's [batch, h, w, c] */
export function sampleLatents(moments: Tensor, noise: Tensor, scales: LatentScales): Tensor {
  return record(moments, noise, moments.columns / 2, scales, true);
}

/** Latents of the denoiser → latents of the autoencoder, [batch, h, w, c] */
export function unscaleLatents(x: Tensor, scales: LatentScales): Tensor {
  return record(x, x, x.columns, scales, false);
}

/** Latents of an autoencoder without moments → latents of the denoiser, [batch, h, w, c] */
export function scaleLatents(x: Tensor, scales: LatentScales): Tensor {
  const inverse = scales.map(({ scale, shift }) => ({ scale: 1 / scale, shift: -shift * scale }));
  return record(x, x, x.columns, inverse, false);
}

function record(x: Tensor, noise: Tensor, columns: number, scales: LatentScales, sample: boolean): Tensor {
  if (scales.length !== 1 && scales.length !== columns)
    throw new Error(
      `latents: ${scales.length} scales for ${columns} channels, where one or as many are wanted`,
    );
  const tape = tapeOf(x);
  const y = tape.tensor([...x.shape.slice(0, -1), columns]);
  const values = y.rows({}) * y.stride;
  for (const [first, { scale, shift }] of scales.entries()) {
    const end = first === scales.length - 1 ? y.stride : first + 1;
    tape.dispatch('latents.wgsl', {
      params: { SAMPLE: sample },
      args: { values, columns, stride: y.stride, x_stride: x.stride, first, end, scale, shift },
      bind: { x, noise, y },
      groups: () => walkers(tape, values),
    });
  }
  return y;
}
