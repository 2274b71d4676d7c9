// LayerNorm of all rows, or of chosen ones, with or without weights and modulation.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { modulationOperands, type Modulation } from './modulation.ts';
import { stripsOf } from './row-strips.ts';

/** Weight and bias, vectors of [columns]. */
export interface Affine {
  weight: Tensor;
  bias: Tensor;
}

/** (x - mean) / sqrt(variance + eps) · weight + bias, then · (1 + scale) + shift; x [rows, columns] → [rows, columns] */
export function layernorm(
  x: Tensor,
  affine: Affine | null,
  eps: number,
  modulation: Modulation | null = null,
): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor(x.shape);
  const { variant, args, bind } = modulationOperands(x, modulation);
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch('layernorm.wgsl', {
      params: { PICK: 'all', AFFINE: affine ? 'full' : 'none', MODULATE: variant },
      args: { quads: x.stride / 4, columns: x.columns, eps, first_row: strip.firstRow, ...args },
      bind: { x: strip.of(x), y: strip.of(y), ...affine, ...bind },
      groups: (sizes) => [strip.count(sizes)],
    });
  }
  return y;
}

/** Norms of the rows that `index` names; x [rows, columns], index [n] of u32 → [n, columns] */
export function layernormRows(x: Tensor, affine: Affine | null, eps: number, index: Tensor): Tensor {
  const tape = tapeOf(x);
  const y = tape.tensor([index.columns, x.columns]);
  const { variant, args } = modulationOperands(x, null);
  tape.dispatch('layernorm.wgsl', {
    params: { PICK: 'index', AFFINE: affine ? 'full' : 'none', MODULATE: variant },
    args: { quads: x.stride / 4, columns: x.columns, eps, first_row: 0, ...args },
    bind: { x, y, index, ...affine },
    groups: () => [index.columns],
  });
  return y;
}
