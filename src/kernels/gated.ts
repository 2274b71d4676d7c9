// Gated units, for a matmul's output to which something was added before the activation.

import { tapeOf } from '../gpu/tape.ts';
import { paddedColumns, type Tensor } from '../gpu/tensor.ts';
import type { Activation } from './activation.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 32;

/** Factors on gates before their activation, and on products; left out: 1. */
export interface GateFactors {
  gate: number;
  product: number;
}

export function gateParams(factors: GateFactors | null): { GATE_FACTOR?: number; PRODUCT_FACTOR?: number } {
  return factors ? { GATE_FACTOR: factors.gate, PRODUCT_FACTOR: factors.product } : {};
}

/**
 * activation(gate) · up for gate and up columns that alternate in pairs, up columns first unless `gateFirst`; x [rows, columns] →
 * [rows, columns / 2]
 */
export function gated(
  x: Tensor,
  activation: Activation,
  gateFirst = true,
  factors: GateFactors | null = null,
): Tensor {
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), x.columns / 2]);
  const pairs = paddedColumns(y.columns) / 2;
  dispatchRows('gated.wgsl', {
    strips: { x, y },
    params: { ACTIVATION: activation, GATE_FIRST: gateFirst, ...gateParams(factors) },
    args: { x_quads: x.stride / 4, y_pairs: pairs },
    across: Math.ceil(pairs / WORKGROUP),
  });
  return y;
}
