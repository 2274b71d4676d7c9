// Activation functions, for places where no matmul's store can apply them.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { dispatchQuads } from './row-strips.ts';

/** Activation after a sum of products; `gelu` is exact, computed by erf. */
export type Activation = 'silu' | 'gelu' | 'gelu-tanh' | 'quick-gelu' | 'relu' | 'tanh';

/** f(x) element by element; x [rows, columns] → [rows, columns] */
export function activation(x: Tensor, name: Activation): Tensor {
  const y = tapeOf(x).tensor(x.shape);
  const quads = x.stride / 4;
  const params = { ACTIVATION: name };
  dispatchQuads('activation.wgsl', {
    strips: { x, y },
    params,
    args: ({ rows }) => ({ quads: rows * quads }),
    quads,
  });
  return y;
}

/** x · σ(x) */
export function silu(x: Tensor): Tensor {
  return activation(x, 'silu');
}
