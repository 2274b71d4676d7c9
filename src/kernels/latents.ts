// Latents between an autoencoder, which has a spread and a middle of its own, and a denoiser, which wants 1 and 0.

import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import { walkers } from './repeat.ts';

/** denoiser's = (autoencoder's − shift) · scale */
export interface LatentScale {
  scale: number;
  shift: number;
}

/** moments [batch, h, w, 2 · c], means then logarithms of variances; noise [batch, h, w, c] → the denoiser's [batch, h, w, c] */
export function sampleLatents(moments: Tensor, noise: Tensor, scale: LatentScale): Tensor {
  return record(moments, noise, moments.columns / 2, scale, true);
}

/** The denoiser's latents as the autoencoder takes them, [batch, h, w, c] */
export function unscaleLatents(x: Tensor, scale: LatentScale): Tensor {
  return record(x, x, x.columns, scale, false);
}

/** The autoencoder's latents as the denoiser takes them, where it gives no moments, [batch, h, w, c] */
export function scaleLatents(x: Tensor, { scale, shift }: LatentScale): Tensor {
  return record(x, x, x.columns, { scale: 1 / scale, shift: -shift * scale }, false);
}

function record(
  x: Tensor,
  noise: Tensor,
  columns: number,
  { scale, shift }: LatentScale,
  sample: boolean,
): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor([...x.shape.slice(0, -1), columns]);
  const values = y.rows({}) * y.stride;
  tape.dispatch('latents.wgsl', {
    params: { SAMPLE: sample },
    args: { values, columns, stride: y.stride, x_stride: x.stride, scale, shift },
    bind: { x, noise, y },
    groups: () => walkers(tape, values),
  });
  return y;
}
