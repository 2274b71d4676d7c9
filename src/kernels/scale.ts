// All values by one number.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { stripsOf } from './row-strips.ts';

const WORKGROUP = 64;

/** x = x · factor, in place; x [rows, columns] → x */
export function scale(x: Tensor, factor: number): Tensor {
  const tape = tapeOf(x);
  const quads = x.stride / 4;
  for (const strip of stripsOf(tape, [x])) {
    tape.dispatch('scale.wgsl', {
      args: { quads, factor },
      bind: { x: strip.of(x) },
      groups: (sizes) => [Math.ceil(quads / WORKGROUP), strip.count(sizes)],
    });
  }
  return x;
}
