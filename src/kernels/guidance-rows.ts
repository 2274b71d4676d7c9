// True classifier-free guidance whose result keeps the lengths of the conditional prediction: of each token, or of each line of an image.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';

/**
 * g · |positive| / |g| of each row, with g = negative + scalars[scalar] · (positive − negative); positive and negative
 * [items, tokens, columns] → the same shape
 */
export function guidanceRows(positive: Tensor, negative: Tensor, scalars: Operand, scalar: number): Tensor {
  const y = resultOf(positive, negative);
  const args = { quads: y.stride / 4, step: 1, scalar };
  const strips = { positive, negative, y };
  dispatchRows('guidance-rows.wgsl', { strips, params: { SQUARES: 'row' }, args, bind: { scalars } });
  return y;
}

/** As `guidanceRows`, with the lengths of each channel along the width; positive and negative [items, height, width, channels] → the same shape */
export function guidanceWidths(positive: Tensor, negative: Tensor, scalars: Operand, scalar: number): Tensor {
  const y = resultOf(positive, negative);
  const [items, height, width] = y.shape as number[];
  const step = y.stride / 4;
  tapeOf(y).dispatch('guidance-rows.wgsl', {
    params: { SQUARES: 'lane' },
    args: { quads: width!, step, scalar },
    bind: { positive, negative, scalars, y },
    groups: () => [items! * height! * step],
  });
  return y;
}

function resultOf(positive: Tensor, negative: Tensor): Tensor {
  if (positive.shape.join() !== negative.shape.join())
    throw new Error(`guidance needs equal shapes: [${positive.shape.join()}] and [${negative.shape.join()}]`);
  return tapeOf(positive).tensor(positive.shape);
}
