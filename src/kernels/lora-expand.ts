// The LoRA part of y = x · Wᵀ, for the rows that have an lora: written to y, or added to it, before the matmul adds the rest.

import { tapeOf } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import { loraShrink } from './lora-shrink.ts';
import type { Matrix } from './matrix.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 32;

/** Returns true if a row of the tape may have a LoRA that adapts the matrix. */
export function isAdapted(x: Pick<Tensor, 'tape' | 'shape'>, { lora }: Matrix): boolean {
  return lora !== null && tapeOf(x).rowLoras !== null;
}

function lorasOf(x: Tensor): Region {
  const [rows] = x.shape;
  const loras = tapeOf(x).rowLoras?.[String(rows)];
  if (!loras) throw new Error(`lora: nothing says which LoRAs the rows of [${x.shape.join(', ')}] have`);
  return loras;
}

/** y = scale · B · A · x, or y += that, in place; zeros for a row without a LoRA; x [rows, k], y [rows, columns] → y */
export function loraExpand(x: Tensor, weight: Matrix, y: Tensor, { add }: { add: boolean }): Tensor {
  const loras = lorasOf(x);
  const shrunk = loraShrink(x, weight, loras);
  dispatchRows('lora-expand.wgsl', {
    strips: { x: shrunk, y },
    params: { ADD: add },
    args: ({ firstRow }) => ({ x_quads: shrunk.stride / 4, y_quads: y.stride / 4, first_row: firstRow }),
    bind: { loras, factors: weight.lora!.region },
    across: Math.ceil(y.stride / 4 / WORKGROUP),
  });
  return y;
}
