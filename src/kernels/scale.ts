// All values by one number.

import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 64;

/** x = x · factor, in place; x [rows, columns] → x */
export function scale(x: Tensor, factor: number): Tensor {
  const quads = x.stride / 4;
  dispatchRows('scale.wgsl', {
    strips: { x },
    args: { quads, factor },
    across: Math.ceil(quads / WORKGROUP),
  });
  return x;
}
