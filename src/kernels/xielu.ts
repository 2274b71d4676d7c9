// The activation xIELU, whose parameters belong to a layer.

import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 64;

/** Parameters of a layer; those of positive and of negative inputs are numbers, or tensors [1]. */
export interface Xielu {
  positive: number | Tensor;
  negative: number | Tensor;
  beta: number;
  eps: number;
}

/** Positive inputs are squared, negative ones bent, both plus beta · x; in place; x [rows, columns] → x */
export function xielu(x: Tensor, { positive, negative, beta, eps }: Xielu): Tensor {
  const quads = x.stride / 4;
  const isStated = typeof positive === 'number' && typeof negative === 'number';
  const numbers = isStated ? { positive, negative } : { positive: 0, negative: 0 };
  dispatchRows('xielu.wgsl', {
    strips: { x },
    params: { FROM: isStated ? 'stated' : 'stored' },
    args: { quads, ...numbers, beta, eps },
    ...(!isStated && { bind: { positive: positive as Tensor, negative: negative as Tensor } }),
    across: Math.ceil(quads / WORKGROUP),
  });
  return x;
}
