// RMSNorm of all rows, or of chosen ones (the rows whose logits are computed).

import { tapeOf, type Operand } from '../gpu/tape.ts';
import { Tensor, type Extent, type Region } from '../gpu/tensor.ts';
import { modulationOperands, type Modulation } from './modulation.ts';
import { ALL_ROWS, pickedRows, stripsOf } from './row-strips.ts';
import { rowKernel } from './wide-row.ts';

const KERNELS = { narrow: 'rmsnorm.wgsl', wide: 'rmsnorm-wide.wgsl' };

/** x / sqrt(mean(x²) + eps) · weight, then · (1 + scale) + shift; x [rows, columns], weight [columns], or null: 1 → [rows, columns] */
export function rmsnorm(
  x: Tensor,
  weight: Tensor | null,
  eps: number,
  modulation: Modulation | null = null,
): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const { variant, args, bind } = modulationOperands(x, modulation);
  const kernel = rowKernel(tape, KERNELS, x.stride / 4);
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch(kernel.shader, {
      params: { ...kernel.params, PICK: 'all', AFFINE: weight ? 'weight' : 'none', MODULATE: variant },
      args: { quads: x.stride / 4, columns: x.columns, eps, first_row: strip.firstRow, ...args, ...ALL_ROWS },
      bind: { x: strip.of(x), y: strip.of(y), ...(weight && { weight }), ...bind },
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
  const all = { quads: x.stride / 4, columns: x.columns, eps, first_row: 0, ...args };
  const kernel = rowKernel(tape, KERNELS, x.stride / 4);
  for (const part of pickedRows(tape, x, y)) {
    tape.dispatch(kernel.shader, {
      params: { ...kernel.params, ...part.params, AFFINE: 'weight', MODULATE: variant },
      args: { ...all, ...part.args },
      bind: { x: part.x, weight, index, y: part.y },
      groups: (sizes) => [part.count(sizes)],
    });
  }
  return y;
}
