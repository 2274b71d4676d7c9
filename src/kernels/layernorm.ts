// LayerNorm of all rows, or of chosen ones, with or without weights and modulation.

import { tapeOf, type Operand } from '../gpu/tape.ts';
import { Tensor, type Region } from '../gpu/tensor.ts';
import { modulationOperands, type Modulation } from './modulation.ts';
import { ALL_ROWS, pickedRows, stripsOf } from './row-strips.ts';
import { rowKernel } from './wide-row.ts';

const KERNELS = { narrow: 'layernorm.wgsl', wide: 'layernorm-wide.wgsl' };

/** Weight and bias, vectors of [columns]; a bias of null adds nothing. */
export interface Affine {
  weight: Tensor;
  bias: Tensor | null;
}

function affineOperands(affine: Affine | null): { variant: string; bind: Record<string, Tensor> } {
  if (affine === null) return { variant: 'none', bind: {} };
  const { weight, bias } = affine;
  return bias ? { variant: 'full', bind: { weight, bias } } : { variant: 'weight', bind: { weight } };
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
  const scaling = affineOperands(affine);
  const kernel = rowKernel(tape, KERNELS, x.stride / 4);
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch(kernel.shader, {
      params: { ...kernel.params, PICK: 'all', AFFINE: scaling.variant, MODULATE: variant },
      args: { quads: x.stride / 4, columns: x.columns, eps, first_row: strip.firstRow, ...args, ...ALL_ROWS },
      bind: { x: strip.of(x), y: strip.of(y), ...scaling.bind, ...bind },
      groups: (sizes) => [strip.count(sizes)],
    });
  }
  return y;
}

/** Norms of the rows that `index` names, `into` bytes that outlast the step; x [rows, columns], index [n] of u32 → [n, columns] */
export function layernormRows(
  x: Tensor,
  affine: Affine | null,
  eps: number,
  index: Operand,
  n: string | number,
  into?: Region,
): Tensor {
  const tape = tapeOf(x);
  const shape = [n, x.columns];
  const y = into ? new Tensor(shape, 'f32', { tape, region: into }) : tape.tensor(shape);
  const { variant, args } = modulationOperands(x, null);
  const scaling = affineOperands(affine);
  const all = { quads: x.stride / 4, columns: x.columns, eps, first_row: 0, ...args };
  const kernel = rowKernel(tape, KERNELS, x.stride / 4);
  for (const part of pickedRows(tape, x, y)) {
    tape.dispatch(kernel.shader, {
      params: { ...kernel.params, ...part.params, AFFINE: scaling.variant, MODULATE: variant },
      args: { ...all, ...part.args },
      bind: { x: part.x, y: part.y, index, ...scaling.bind },
      groups: (sizes) => [part.count(sizes)],
    });
  }
  return y;
}
