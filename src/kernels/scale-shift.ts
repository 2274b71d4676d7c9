// Scales and shifts values to another range.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { Activation } from './activation.ts';
import { stripsOf } from './row-strips.ts';

const WORKGROUP = 64;

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
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const quads = x.stride / 4;
  for (const strip of stripsOf(tape, [x, y], Infinity)) {
    const groups = (rows: number) =>
      Math.min(Math.ceil((rows * quads) / WORKGROUP), tape.device.capabilities.maxWorkgroups);
    tape.dispatch('scale-shift.wgsl', {
      params: { ACTIVATION: activation },
      args: { quads, columns: x.columns, all_quads: strip.rows * quads, ...range },
      bind: { x: strip.of(x), y: strip.of(y) },
      groups: (sizes) => [groups(strip.count(sizes))],
    });
  }
  return y;
}
