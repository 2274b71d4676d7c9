// The LoRA part of y = x · Wᵀ, for the rows that have an adapter: written to y, or added to it, before the matmul adds the rest.

import { tapeOf } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import { loraShrink } from './lora-shrink.ts';
import type { Matrix } from './matrix.ts';
import { dispatchRows } from './row-strips.ts';

const WORKGROUP = 32;

/** Returns true if a row of the tape may have an adapter that adapts the matrix. */
export function isAdapted(x: Pick<Tensor, 'tape' | 'shape'>, { lora }: Matrix): boolean {
  return lora !== null && tapeOf(x).rowAdapters !== null;
}

function adaptersOf(x: Tensor): Region {
  const [rows] = x.shape;
  const adapters = tapeOf(x).rowAdapters?.[String(rows)];
  if (!adapters)
    throw new Error(`lora: nothing says which adapters the rows of [${x.shape.join(', ')}] have`);
  return adapters;
}

/** y = scale · B · A · x, or y += that, in place; zeros for a row without an adapter; x [rows, k], y [rows, columns] → y */
export function loraExpand(x: Tensor, weight: Matrix, y: Tensor, { add }: { add: boolean }): Tensor {
  const adapters = adaptersOf(x);
  const shrunk = loraShrink(x, weight, adapters);
  dispatchRows('lora-expand.wgsl', {
    strips: { x: shrunk, y },
    params: { ADD: add },
    args: ({ firstRow }) => ({ x_quads: shrunk.stride / 4, y_quads: y.stride / 4, first_row: firstRow }),
    bind: { adapters, factors: weight.lora!.region },
    across: Math.ceil(y.stride / 4 / WORKGROUP),
  });
  return y;
}
