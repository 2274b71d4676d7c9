// A norm followed by a convolution, strip by strip: only one strip of the normalized image exists at a time, which large images need
// to fit in memory. Bit-identical to the norm followed by conv2d.

import type { Tensor } from '../gpu/tensor.ts';
import { normalizePixels, type ChannelNorm } from './channel-norm.ts';
import { recordStrip } from './conv2d.ts';
import { convolution, cutWork, stripsOf, type Conv2dOptions } from './convolution.ts';
import { applyMoments, moments, type GroupNorm, type NormWeights } from './groupnorm.ts';
import type { Matrix } from './matrix.ts';
import { view, type Pixels, type View } from './pixels.ts';

/** `stripRows`: rows of the result whose normalized values exist at a time; left out: as many as bindings allow. */
export type NormConvOptions = Conv2dOptions & { stripRows?: number | undefined };

/** conv2d(groupnorm(x)), computed in strips */
export function normConv(
  x: Tensor,
  norm: NormWeights,
  weight: Matrix,
  options: GroupNorm & NormConvOptions,
): Tensor {
  const applied = moments(x, norm, options);
  return inStrips(x, weight, options, (...strip) => applyMoments(applied, ...strip));
}

/** conv2d(channelNorm(x)), computed in strips */
export function channelNormConv(
  x: Tensor,
  norm: ChannelNorm,
  weight: Matrix,
  options: NormConvOptions,
): Tensor {
  return inStrips(x, weight, options, (...strip) => normalizePixels(x, norm, ...strip));
}

/** `normalize` records the norm of pixels, counted over all images, from one view into another. */
function inStrips(
  x: Tensor,
  weight: Matrix,
  options: NormConvOptions,
  normalize: (pixels: Pixels, from: View, to: View) => void,
): Tensor {
  const conv = convolution(x, weight, options);
  const most = (options.stripRows ?? Infinity) * conv.ySize.width;
  for (const strip of stripsOf(conv, x, most)) {
    const { first, last } = strip.source;
    const normed = { operand: conv.tape.tensor([last - first, x.columns]), first };
    normalize(strip.source, view(conv.tape, x, strip.source), normed);
    recordStrip(conv, strip, normed);
    cutWork(conv, strip);
  }
  return conv.y;
}
