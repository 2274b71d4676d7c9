// Rows by a gate of their own.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { stripsOf } from './row-strips.ts';

const WORKGROUP = 64;

/** x = x · σ(gate of the row), in place; x [rows, columns], gate [rows, 1] → x */
export function gateRows(x: Tensor, gate: Tensor): Tensor {
  if (gate.columns !== 1) throw new Error(`gateRows: gates of ${gate.columns} columns`);
  const tape = tapeOf(x);
  const quads = x.stride / 4;
  for (const strip of stripsOf(tape, [x, gate])) {
    tape.dispatch('gate-rows.wgsl', {
      args: { quads, gate_stride: gate.stride },
      bind: { x: strip.of(x), gate: strip.of(gate) },
      groups: (sizes) => [Math.ceil(quads / WORKGROUP), strip.count(sizes)],
    });
  }
  return x;
}
