// RMSNorm of heads whose result is multiplied by the SiLU of a gate.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

/** Columns of a tensor that hold the gates of heads, in runs of some heads each. */
export interface HeadGates {
  x: Tensor;
  /** The first column; a multiple of 4. */
  first: number;
  /** Heads of a run. */
  run: number;
  /** Columns from one run to the next; a multiple of 4. */
  stride: number;
}

/** x = x / sqrt(mean(x²) + eps) · weight · silu(gate) for each head of weight's columns, in place; x [rows, heads · dims] → x */
export function gatedRmsnorm(x: Tensor, weight: Tensor, gates: HeadGates, eps: number): Tensor {
  const dims = weight.columns;
  const heads = x.columns / dims;
  const last = gates.first + (Math.ceil(heads / gates.run) - 1) * gates.stride + gates.run * dims;
  if (!Number.isInteger(heads) || dims % 4 !== 0 || gates.first % 4 !== 0 || last > gates.x.columns)
    throw new Error(
      `gatedRmsnorm: heads of ${dims} in ${x.columns} columns, gates up to ${last} of ${gates.x.columns}`,
    );
  tapeOf(x).dispatch('gated-rmsnorm.wgsl', {
    args: {
      stride: x.stride / 4,
      head_quads: dims / 4,
      gate_stride: gates.x.stride / 4,
      gate_first: gates.first / 4,
      gate_run: gates.run,
      run_stride: gates.stride / 4,
      eps,
    },
    bind: { x, weight, gates: gates.x },
    groups: (sizes) => [heads, x.rows(sizes)],
  });
  return x;
}
