// The product of each row with the matrix A of its LoRA adapter.

import { tapeOf } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import type { Matrix } from './matrix.ts';
import { stripsOf } from './row-strips.ts';

/** scale · A · x for each part of the matrix; x [rows, k] → [rows, parts · rank], for rows with an adapter */
export function loraShrink(x: Tensor, { parts, lora }: Matrix, adapters: Region): Tensor {
  const tape = tapeOf(x);
  const { region, rank } = lora!;
  const y = tape.tensor([...x.shape.slice(0, -1), parts.length * rank]);
  for (const strip of stripsOf(tape, [x, y])) {
    tape.dispatch('lora-shrink.wgsl', {
      args: { quads: x.stride / 4, y_quads: y.stride / 4, first_row: strip.firstRow },
      bind: { x: strip.of(x), y: strip.of(y), adapters, factors: region },
      groups: (sizes) => [(parts.length * rank) / 4, strip.count(sizes)],
    });
  }
  return y;
}
