// A norm followed by a convolution, strip by strip: only one strip of the normalized image exists at a time, which large images need
// to fit in memory. Bit-identical to the norm followed by conv2d, except on matrix units: there the norm writes f16, multiplied by a
// factor that follows from its weights (image-factors.ts).

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { normalizePixels, type ChannelNorm } from './channel-norm.ts';
import { recordStrip } from './conv2d.ts';
import { usesConv2dMatrix } from './conv2d-matrix.ts';
import { convolution, cutWork, stripsOf, type Conv2dOptions } from './convolution.ts';
import { applyMoments, moments, type GroupNorm, type NormWeights } from './groupnorm.ts';
import { roomForHalves } from './halve-pixels.ts';
import { normFactors } from './image-factors.ts';
import type { Matrix } from './matrix.ts';
import { imageShape, size, view, type Pixels, type Stored, type View } from './pixels.ts';

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
  const [, height, width] = imageShape(x);
  return inStrips(x, weight, options, {
    normalize: (...strip) => applyMoments(applied, ...strip),
    factors: () => normFactors(x, { ...norm, together: (height * width * x.columns) / options.groups }),
  });
}

/** conv2d(channelNorm(x)), computed in strips */
export function channelNormConv(
  x: Tensor,
  norm: ChannelNorm,
  weight: Matrix,
  options: NormConvOptions,
): Tensor {
  return inStrips(x, weight, options, {
    normalize: (...strip) => normalizePixels(x, norm, ...strip),
    factors: () => normFactors(x, { ...norm, together: x.columns }),
  });
}

interface Norm {
  /** Records the norm of pixels, counted over all images, from one view into another. */
  normalize: (pixels: Pixels, from: View, to: Stored) => void;
  /** Records factors of its results in f16. */
  factors: () => Tensor;
}

function inStrips(x: Tensor, weight: Matrix, options: NormConvOptions, norm: Norm): Tensor {
  const conv = convolution(x, weight, options);
  const most = (options.stripRows ?? Infinity) * conv.ySize.width;
  const factors = usesConv2dMatrix(conv) ? norm.factors() : null;
  for (const strip of stripsOf(conv, x, most)) {
    const normed = roomFor(conv.tape, x, strip.source, factors);
    norm.normalize(strip.source, view(conv.tape, x, strip.source), normed);
    recordStrip(conv, strip, normed);
    cutWork(conv, strip);
  }
  return conv.y;
}

function roomFor(tape: Tape, x: Tensor, pixels: Pixels, factors: Tensor | null): Stored {
  if (factors) return roomForHalves(tape, x, pixels, factors);
  const operand = tape.tensor([size(pixels), x.columns]);
  return { operand, first: pixels.first, stride: operand.stride, factors: null };
}
