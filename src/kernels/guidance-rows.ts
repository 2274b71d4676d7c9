// True classifier-free guidance of models that predict tokens: each guided token keeps the length of the conditional prediction.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';

/**
 * g · |positive| / |g| of each row, with g = negative + scalars[scalar] · (positive − negative); positive and negative
 * [items, tokens, columns] → the same shape
 */
export function guidanceRows(positive: Tensor, negative: Tensor, scalars: Operand, scalar: number): Tensor {
  if (positive.shape.join() !== negative.shape.join())
    throw new Error(`guidanceRows: [${positive.shape.join()}] and [${negative.shape.join()}] must be alike`);
  const y = tapeOf(positive).tensor(positive.shape);
  const args = { quads: y.stride / 4, scalar };
  dispatchRows('guidance-rows.wgsl', { strips: { positive, negative, y }, args, bind: { scalars } });
  return y;
}
