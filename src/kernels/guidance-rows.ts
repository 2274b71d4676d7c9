// True classifier-free guidance of models that predict tokens: each guided token keeps the length of the conditional prediction.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { stripsOf } from './row-strips.ts';

/**
 * g · |positive| / |g| of each row, with g = negative + scalars[scalar] · (positive − negative); positive and negative
 * [items, tokens, columns] → the same shape
 */
export function guidanceRows(positive: Tensor, negative: Tensor, scalars: Operand, scalar: number): Tensor {
  if (positive.shape.join() !== negative.shape.join())
    throw new Error(`guidanceRows: [${positive.shape.join()}] and [${negative.shape.join()}]`);
  const tape = tapeOf(positive);
  const y = tape.tensor(positive.shape);
  for (const strip of stripsOf(tape, [positive, y])) {
    tape.dispatch('guidance-rows.wgsl', {
      args: { quads: y.stride / 4, scalar },
      bind: { positive: strip.of(positive), negative: strip.of(negative), scalars, y: strip.of(y) },
      groups: (sizes) => [strip.count(sizes)],
    });
  }
  return y;
}
