// RMSNorm of all rows, or of chosen ones (the rows whose logits are computed).

import { tapeOf, type Operand } from '../gpu/tape.ts';
import { Tensor, type Extent, type Region } from '../gpu/tensor.ts';
import { modulationOperands, type Modulation } from './modulation.ts';
import { stripsOf } from './row-strips.ts';

/** x / sqrt(mean(x²) + eps) · weight, then · (1 + scale) + shift; x [rows, columns], weight [columns] → [rows, columns] */
export function rmsnorm(
  x: Tensor,
  weight: Tensor,
  eps: number,
  modulation: Modulation | null = null,
): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const { variant, args, bind } = modulationOperands(x, modulation);
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch('rmsnorm.wgsl', {
      params: { PICK: 'all', MODULATE: variant },
      args: { quads: x.stride / 4, columns: x.columns, eps, first_row: strip.firstRow, ...args },
      bind: { x: strip.of(x), y: strip.of(y), weight, ...bind },
      groups: (sizes) => [strip.count(sizes)],
    });
  }
  return y;
}

/**
 * Norms of the rows that `index` lists; `into`: a buffer that outlasts the step; x [rows, columns], index [n] of u32 → [n, columns].
 * `n` may be several extents, whose product is the number of rows.
 */
export function rmsnormRows(
  x: Tensor,
  weight: Tensor,
  eps: number,
  index: Operand,
  n: string | readonly Extent[],
  into?: Region,
): Tensor {
  const tape = tapeOf(x);
  const shape = [...(typeof n === 'string' ? [n] : n), x.columns];
  const y = into ? new Tensor(shape, 'f32', { tape, region: into }) : tape.tensor(shape);
  const { variant, args } = modulationOperands(x, null);
  tape.dispatch('rmsnorm.wgsl', {
    params: { PICK: 'index', MODULATE: variant },
    args: { quads: x.stride / 4, columns: x.columns, eps, first_row: 0, ...args },
    bind: { x, weight, index, y },
    groups: (sizes) => [y.rows(sizes)],
  });
  return y;
}
