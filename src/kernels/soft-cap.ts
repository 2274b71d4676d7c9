// Soft limit of values, as Gemma 2 applies it to its logits.

import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 64;

/** x = cap · tanh(x / cap), in place; x [rows, columns] → x */
export function softCap(x: Tensor, cap: number): Tensor {
  const quads = x.stride / 4;
  dispatchRows('soft-cap.wgsl', {
    strips: { x },
    args: { quads, cap },
    across: Math.ceil(quads / WORKGROUP),
  });
  return x;
}
