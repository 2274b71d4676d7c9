// GroupNorm followed by a convolution, strip by strip: only one strip of the normalized image exists at a time, which large images
// need to fit in memory. Bit-identical to groupnorm followed by conv2d.

import type { Tensor } from '../gpu/tensor.ts';
import { recordStrip } from './conv2d.ts';
import { convolution, stripsOf, type Conv2dOptions } from './convolution.ts';
import { applyMoments, moments, type GroupNorm, type NormWeights } from './groupnorm.ts';
import type { Matrix } from './matrix.ts';
import { view } from './pixels.ts';

/** conv2d(groupnorm(x)), computed in strips of `stripRows` rows of the result; default: as many as bindings allow */
export function normConv(
  x: Tensor,
  norm: NormWeights,
  weight: Matrix,
  options: GroupNorm & Conv2dOptions & { stripRows?: number | undefined },
): Tensor {
  const conv = convolution(x, weight, options);
  const applied = moments(x, norm, options);
  const most = (options.stripRows ?? Infinity) * conv.ySize.width;
  for (const strip of stripsOf(conv, x, most)) {
    const { first, last } = strip.source;
    const normed = { operand: conv.tape.tensor([last - first, x.columns]), first };
    applyMoments(applied, strip.source, view(conv.tape, x, strip.source), normed);
    recordStrip(conv, strip, normed);
  }
  return conv.y;
}
