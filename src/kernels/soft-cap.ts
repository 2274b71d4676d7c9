// Soft limit of values, as Gemma 2 applies it to its logits.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { stripsOf } from './row-strips.ts';

const WORKGROUP = 64;

/** x = cap · tanh(x / cap), in place; x [rows, columns] → x */
export function softCap(x: Tensor, cap: number): Tensor {
  const tape = tapeOf(x);
  const quads = x.stride / 4;
  for (const strip of stripsOf(tape, [x])) {
    tape.dispatch('soft-cap.wgsl', {
      args: { quads, cap },
      bind: { x: strip.of(x) },
      groups: (sizes) => [Math.ceil(quads / WORKGROUP), strip.count(sizes)],
    });
  }
  return x;
}
