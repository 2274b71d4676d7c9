// Repeats a tensor for every item of a batch, scaled by a number of the step.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

/** x [items, …] · scalars[scalar], repeated `times` times → [times · items, …] */
export function repeat(x: Tensor, times: number, scalars: Operand, scalar: number): Tensor {
  const tape = tapeOf(x);
  const [items, ...rest] = x.shape as [number, ...number[]];
  const y = tape.tensor([times * items, ...rest]);
  const quads = (x.rows({}) * x.stride) / 4;
  tape.dispatch('repeat.wgsl', {
    args: { quads, all_quads: times * quads, scalar },
    bind: { x, scalars, y },
    groups: () => walkers(tape, times * quads),
  });
  return y;
}
