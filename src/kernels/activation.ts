// Activation functions, for places where no matmul's store can apply them.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { stripsOf } from './row-strips.ts';

/** Activation after a sum of products; `gelu` is exact, computed by erf. */
export type Activation = 'silu' | 'gelu' | 'gelu-tanh' | 'quick-gelu' | 'tanh';

const WORKGROUP = 64;

/** f(x) element by element; x [rows, columns] → [rows, columns] */
export function activation(x: Tensor, name: Activation): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const quads = x.stride / 4;
  for (const strip of stripsOf(tape, [x, y], Infinity)) {
    const groups = (rows: number) =>
      Math.min(Math.ceil((rows * quads) / WORKGROUP), tape.device.capabilities.maxWorkgroups);
    tape.dispatch('activation.wgsl', {
      params: { ACTIVATION: name },
      args: { quads: strip.rows * quads },
      bind: { x: strip.of(x), y: strip.of(y) },
      groups: (sizes) => [groups(strip.count(sizes))],
    });
  }
  return y;
}

/** x · σ(x) */
export function silu(x: Tensor): Tensor {
  return activation(x, 'silu');
}
