// Modulation of a norm's result in diffusion transformers, per item of the batch: y · (1 + scale) + shift.

import type { Operand } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { quadsOf, rowsPerItem, type Columns } from './columns.ts';

/** Scale and shift, tensors of [items, columns]. */
export interface Modulation {
  shift: Tensor | Columns | null;
  scale: Tensor | Columns;
}

/** Operands and parameters of shaders/lib/modulate.*. */
export interface ModulationOperands {
  variant: 'none' | 'scale' | 'scale-shift';
  args: Record<'item_rows' | 'scale_quads' | 'scale_first' | 'shift_quads' | 'shift_first', number>;
  bind: Record<string, Operand>;
}

export function modulationOperands(x: Tensor, modulation: Modulation | null): ModulationOperands {
  if (!modulation) {
    const args = { item_rows: 1, scale_quads: 0, scale_first: 0, shift_quads: 0, shift_first: 0 };
    return { variant: 'none', args, bind: {} };
  }
  const scale = quadsOf(modulation.scale);
  const shift = modulation.shift && quadsOf(modulation.shift);
  return {
    variant: shift ? 'scale-shift' : 'scale',
    args: {
      item_rows: rowsPerItem(x, scale.x),
      scale_quads: scale.stride,
      scale_first: scale.first,
      shift_quads: shift?.stride ?? 0,
      shift_first: shift?.first ?? 0,
    },
    bind: { scale: scale.x, ...(shift ? { shift: shift.x } : {}) },
  };
}
