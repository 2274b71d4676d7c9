// RMSNorm of a block's output, added to the block's input.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, rowsPerItem, type Columns } from './columns.ts';
import { dispatchRows } from './row-strips.ts';
import { rowKernel } from './wide-row.ts';

const KERNELS = { narrow: 'rmsnorm-add.wgsl', wide: 'rmsnorm-add-wide.wgsl' };

/**
 * residual += tanh(gate) · rmsnorm(x, weight, eps), in place; without a gate the factor is 1; x and residual [items, n, columns],
 * weight [columns], gate [items, columns] → residual. `scalar` [1]: factor of the sum; null: 1
 */
export function rmsnormAdd(
  x: Tensor,
  weight: Tensor,
  eps: number,
  gate: Tensor | Columns | null,
  residual: Tensor,
  scalar: Tensor | null = null,
): Tensor {
  const gates = gate && quadsOf(gate);
  const kernel = rowKernel(tapeOf(x), KERNELS, x.stride / 4);
  dispatchRows(kernel.shader, {
    strips: { x, y: residual },
    params: { ...kernel.params, GATE: gates ? 'tanh' : 'none', WHOLE: scalar ? 'scalar' : 'plain' },
    args: ({ firstRow }) => ({
      quads: x.stride / 4,
      columns: x.columns,
      eps,
      first_row: firstRow,
      item_rows: gates ? rowsPerItem(x, gates.x) : 1,
      gate_quads: gates?.stride ?? 0,
      gate_first: gates?.first ?? 0,
    }),
    bind: { weight, ...(gates ? { gate: gates.x } : {}), ...(scalar ? { scalar } : {}) },
  });
  return residual;
}
