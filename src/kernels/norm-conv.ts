// GroupNorm and the convolution after it, strip by strip: of the normalised image no more than a strip exists at a time, which
// is what large images need to fit. Bit-identical to groupnorm followed by conv2d.

import type { Tensor } from '../gpu/tensor.ts';
import { recordStrip } from './conv2d.ts';
import { convolution, stripsOf, type Conv2dOptions } from './convolution.ts';
import { applyMoments, moments, type GroupNorm, type NormWeights } from './groupnorm.ts';
import type { Matrix } from './matrix.ts';
import { view } from './pixels.ts';

/** conv2d(groupnorm(x)); `stripRows` rows of the result at a time, by default as many as bindings take */
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
