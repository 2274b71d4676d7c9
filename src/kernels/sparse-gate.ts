// Gated units of which only the largest gates are open.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { rowLanes } from './wide-row.ts';

/**
 * gelu(max(gate − cutoff, 0)) · up, with gelu by tanh and a cutoff that lies `deviations` standard deviations above the mean of the row's gates; x [rows, 2 ·
 * columns]: gates before ups → [rows, columns]
 */
export function sparseGate(x: Tensor, deviations: number): Tensor {
  const columns = x.columns / 2;
  if (columns % 4 !== 0) throw new Error(`sparseGate: ${columns} gates, a multiple of 4 is wanted`);
  const tape = tapeOf(x);
  const y = tape.tensor([...x.shape.slice(0, -1), columns]);
  tape.dispatch('sparse-gate.wgsl', {
    params: rowLanes(tape, columns / 4),
    args: { quads: columns / 4, x_stride: x.stride / 4, y_stride: y.stride / 4, deviations },
    bind: { x, y },
    groups: (sizes) => [y.rows(sizes)],
  });
  return y;
}
