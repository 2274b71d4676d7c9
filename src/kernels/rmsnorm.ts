// RMSNorm of all rows, or of chosen ones (the rows whose logits are wanted).

import type { Operand } from '../gpu/tape.ts';
import { tapeOf, type Tensor } from '../gpu/tensor.ts';

/** x / sqrt(mean(x²) + eps) · weight; x [rows, columns], weight [columns] → [rows, columns] */
export function rmsnorm(x: Tensor, weight: Tensor, eps: number): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  tape.dispatch('rmsnorm.wgsl', {
    params: { PICK: 'all' },
    args: { quads: x.stride / 4, columns: x.columns, eps },
    bind: { x, weight, y },
    groups: (sizes) => [x.rows(sizes)],
  });
  return y;
}

/** The same of the rows that `index` names; x [rows, columns], index [n] of u32 → [n, columns] */
export function rmsnormRows(x: Tensor, weight: Tensor, eps: number, index: Operand, n: string): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor([n, x.columns]);
  tape.dispatch('rmsnorm.wgsl', {
    params: { PICK: 'index' },
    args: { quads: x.stride / 4, columns: x.columns, eps },
    bind: { x, weight, index, y },
    groups: (sizes) => [y.rows(sizes)],
  });
  return y;
}
