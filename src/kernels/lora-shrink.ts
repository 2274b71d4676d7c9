// The product of each row with the matrix A of its LoRA.

import { tapeOf } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import type { Matrix } from './matrix.ts';
import { dispatchRows } from './row-strips.ts';

/** scale · A · x for each part of the matrix; x [rows, k] → [rows, parts · rank], for rows with a LoRA */
export function loraShrink(x: Tensor, { parts, lora }: Matrix, loras: Region): Tensor {
  const { region, rank } = lora!;
  const y = tapeOf(x).tensor([...x.shape.slice(0, -1), parts.length * rank]);
  dispatchRows('lora-shrink.wgsl', {
    strips: { x, y },
    args: ({ firstRow }) => ({ quads: x.stride / 4, y_quads: y.stride / 4, first_row: firstRow }),
    bind: { loras, factors: region },
    across: (parts.length * rank) / 4,
  });
  return y;
}
