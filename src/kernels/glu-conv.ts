// A gated linear unit and a depthwise convolution along the rows of a sound, which sees no later row.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { walkers } from './walkers.ts';

/** Biases [columns] of values, of gates and of the convolution. */
export interface GluBiases {
  value: Tensor;
  gate: Tensor;
  out: Tensor;
}

/**
 * Σ weight · a · σ(b) over a row and those before it; with biases Σ weight · (a + value) · silu(b + gate) + out. x [items, rows, 2 · columns], a
 * before b, weight [columns, taps] → [items, rows, columns]
 */
export function gluConv(x: Tensor, weight: Tensor, biases: GluBiases | null = null): Tensor {
  const tape = tapeOf(x);
  const [items, rows] = x.shape as [number, number];
  const columns = x.columns / 2;
  const isBiased = biases === null || Object.values(biases).every((one: Tensor) => one.columns === columns);
  if (x.shape.length !== 3 || weight.shape[0] !== columns || !isBiased)
    throw new Error(`gluConv: [${x.shape.join(', ')}] by [${weight.shape.join(', ')}]`);
  const y = tape.tensor([items, rows, columns]);
  const values = items * rows * y.stride;
  tape.dispatch('glu-conv.wgsl', {
    params: { UNIT: biases ? 'biased' : 'plain' },
    args: {
      columns,
      rows,
      taps: weight.columns,
      x_stride: x.stride,
      y_stride: y.stride,
      weight_stride: weight.stride,
      values,
    },
    bind: {
      x,
      weight,
      y,
      ...(biases && { value_bias: biases.value, gate_bias: biases.gate, bias: biases.out }),
    },
    groups: () => walkers(tape, values),
  });
  return y;
}
