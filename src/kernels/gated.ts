// Gated units, for a matmul's output to which something was added before the activation.

import { tapeOf } from '../gpu/tape.ts';
import { paddedColumns, type Tensor } from '../gpu/tensor.ts';
import type { Activation } from './activation.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 32;

/**
 * activation(gate) · up for gate and up columns that alternate in pairs, up columns first unless `gateFirst`; x [rows, columns] →
 * [rows, columns / 2]
 */
export function gated(x: Tensor, activation: Activation, gateFirst = true): Tensor {
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), x.columns / 2]);
  const pairs = paddedColumns(y.columns) / 2;
  dispatchRows('gated.wgsl', {
    strips: { x, y },
    params: { ACTIVATION: activation, GATE_FIRST: gateFirst },
    args: { x_quads: x.stride / 4, y_pairs: pairs },
    across: Math.ceil(pairs / WORKGROUP),
  });
  return y;
}
