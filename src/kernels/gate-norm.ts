// The output of a state space model by the SiLU of its gates, with an RMSNorm of groups of columns behind the gates, before them, or none.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { rowKernel } from './wide-row.ts';

export interface GateNormOptions {
  /** Groups of columns that are normalized each on its own. */
  groups: number;
  eps: number;
  /** Whether columns are gated before they are normalized; left out: they are. */
  gateFirst?: boolean;
  /** Factor on gates; left out: 1. */
  factor?: number;
}

const KERNELS = { narrow: 'gate-norm.wgsl', wide: 'gate-norm.wgsl' };

/**
 * x = norm(x · silu(factor · gate)) or norm(x) · silu(factor · gate), in place; x [rows, columns], weight [columns], or null: no norm; gates: as
 * many columns, from a multiple of 4 on → x
 */
export function gateNorm(
  x: Tensor,
  weight: Tensor | null,
  gates: { x: Tensor; first: number },
  { groups, eps, gateFirst = true, factor = 1 }: GateNormOptions,
): Tensor {
  const dims = x.columns / groups;
  if (dims % 4 !== 0 || gates.first % 4 !== 0 || gates.first + x.columns > gates.x.columns)
    throw new Error(
      `gateNorm: groups of ${dims} in ${x.columns} columns, gates from ${gates.first} on of ${gates.x.columns}`,
    );
  const tape = tapeOf(x);
  const { shader, params } = rowKernel(tape, KERNELS, dims / 4);
  tape.dispatch(shader, {
    params: { ...params, NORMED: weight !== null, GATE_FIRST: gateFirst },
    args: {
      stride: x.stride / 4,
      group_quads: dims / 4,
      gate_stride: gates.x.stride / 4,
      gate_first: gates.first / 4,
      gate_factor: factor,
      eps,
    },
    bind: { x, gates: gates.x, weight: weight ?? gates.x },
    groups: (sizes) => [groups, x.rows(sizes)],
  });
  return x;
}
