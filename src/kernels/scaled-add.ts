// Residual sum of networks that weaken what a block adds by a fixed number.

import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** x = factor · x + residual, in place; x and residual of equal shapes → x */
export function scaledAdd(x: Tensor, factor: number, residual: Tensor): Tensor {
  if (x.shape.join() !== residual.shape.join())
    throw new Error(`scaledAdd: [${x.shape.join()}] to [${residual.shape.join()}]: equal shapes are wanted`);
  const quads = x.stride / 4;
  dispatchQuads('scaled-add.wgsl', {
    strips: { residual, x },
    args: (_, rows) => ({ all_quads: rows * quads, factor }),
    quads,
  });
  return x;
}
