// Rows by a gate of their own.

import type { Tensor } from '../gpu/tensor.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 64;

/** x = x · σ(gate of the row), or · the gate itself, in place; x [rows, columns], gate [rows, 1] → x */
export function gateRows(x: Tensor, gate: Tensor, by: 'sigmoid' | 'gate' = 'sigmoid'): Tensor {
  if (gate.columns !== 1) throw new Error(`gateRows: a row has one gate, not ${gate.columns}`);
  const quads = x.stride / 4;
  dispatchRows('gate-rows.wgsl', {
    strips: { x, gate },
    params: { SIGMOID: by === 'sigmoid' },
    args: { quads, gate_stride: gate.stride },
    across: Math.ceil(quads / WORKGROUP),
  });
  return x;
}
