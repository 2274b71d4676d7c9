// RMSNorm of all rows, or of chosen ones (the rows whose logits are wanted).

import type { Operand } from '../gpu/tape.ts';
import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import type { Columns } from './columns.ts';
import { gateOperands, modulationOperands, type ModulationOperands } from './modulation.ts';
import { stripsOf } from './row-strips.ts';

/** x / sqrt(mean(x²) + eps) · weight · (1 + scale); x [rows, columns], weight [columns], scale [items, columns] → [rows, columns] */
export function rmsnorm(
  x: Tensor,
  weight: Tensor,
  eps: number,
  scale: Tensor | Columns | null = null,
): Tensor {
  const y = tapeOf(x).tensor(x.shape);
  record(x, weight, eps, y, false, modulationOperands(x, scale && { scale, shift: null }));
  return y;
}

/** residual += tanh(gate) · rmsnorm(x), in place; gate [items, columns], or null for 1; residual [rows, columns] → residual */
export function rmsnormAdd(
  x: Tensor,
  weight: Tensor,
  eps: number,
  gate: Tensor | Columns | null,
  residual: Tensor,
): Tensor {
  record(x, weight, eps, residual, true, gate ? gateOperands(x, gate) : modulationOperands(x, null));
  return residual;
}

function record(
  x: Tensor,
  weight: Tensor,
  eps: number,
  y: Tensor,
  add: boolean,
  { variant, args, bind }: ModulationOperands,
): void {
  const tape = tapeOf(x);
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch('rmsnorm.wgsl', {
      params: { PICK: 'all', MODULATE: variant, ADD: add },
      args: { quads: x.stride / 4, columns: x.columns, eps, first_row: strip.firstRow, ...args },
      bind: { x: strip.of(x), y: strip.of(y), weight, ...bind },
      groups: (sizes) => [strip.count(sizes)],
    });
  }
}

/** The same of the rows that `index` names; x [rows, columns], index [n] of u32 → [n, columns] */
export function rmsnormRows(x: Tensor, weight: Tensor, eps: number, index: Operand, n: string): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor([n, x.columns]);
  const { variant, args } = modulationOperands(x, null);
  tape.dispatch('rmsnorm.wgsl', {
    params: { PICK: 'index', MODULATE: variant },
    args: { quads: x.stride / 4, columns: x.columns, eps, first_row: 0, ...args },
    bind: { x, weight, index, y },
    groups: (sizes) => [y.rows(sizes)],
  });
  return y;
}
