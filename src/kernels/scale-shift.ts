// Scales and shifts values to another range.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { Activation } from './activation.ts';
import { dispatchQuads } from './row-strips.ts';

/** scale · x + shift */
export function scaleShift(x: Tensor, scale: number, shift: number): Tensor {
  return record(x, 'none', { before: 1, scale, shift });
}

/** bound · tanh(x / bound): almost x near zero, and never beyond ±bound */
export function softClamp(x: Tensor, bound: number): Tensor {
  return record(x, 'tanh', { before: 1 / bound, scale: bound, shift: 0 });
}

interface Range {
  before: number;
  scale: number;
  shift: number;
}

function record(x: Tensor, activation: Activation | 'none', range: Range): Tensor {
  const y = tapeOf(x).tensor(x.shape);
  const quads = x.stride / 4;
  dispatchQuads('scale-shift.wgsl', {
    strips: { x, y },
    params: { ACTIVATION: activation },
    args: ({ rows }) => ({ quads, columns: x.columns, all_quads: rows * quads, ...range }),
    quads,
  });
  return y;
}
