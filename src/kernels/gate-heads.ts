// Attention heads by gates that the projection of the queries gives as well.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

const WORKGROUP = 32;

/** x = x · σ(gate), in place; x [rows, heads · dims], gates [rows, …], which begins with query and gate of each head → x */
export function gateHeads(x: Tensor, gates: Tensor, dims: number): Tensor {
  if (x.columns % dims !== 0 || dims % 4 !== 0 || gates.columns < 2 * x.columns)
    throw new Error(
      `gateHeads: heads of ${dims} in ${x.columns} columns, gates in ${gates.columns}: whole heads, multiples of 4, with a gate each`,
    );
  const quads = x.columns / 4;
  tapeOf(x).dispatch('gate-heads.wgsl', {
    args: { quads, stride: x.stride / 4, head_quads: dims / 4, gate_stride: gates.stride / 4 },
    bind: { x, gates },
    groups: (sizes) => [Math.ceil(quads / WORKGROUP), x.rows(sizes)],
  });
  return x;
}
