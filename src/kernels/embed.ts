// Token rows of the embedding matrix.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { TextBatch } from './batch.ts';
import { weightOperands, type Matrix } from './matrix.ts';

const WORKGROUP = 32;

/** y[row] = W[token of the row] · scale; → [rows, k]. A row continues a slot's last token without a round trip. */
export function embed(tape: Tape, batch: TextBatch, weight: Matrix, scale = 1): Tensor {
  const y = tape.tensor(['rows', weight.k]);
  for (const window of weight.windows) {
    tape.dispatch('embed.wgsl', {
      params: { W: weight.format.name },
      args: {
        y_quads: y.stride / 4,
        blocks: weight.blocks,
        first_group: window.firstGroup,
        groups: window.groups,
        scale,
      },
      bind: { rows: batch.rows, sampled: batch.sampled, ...weightOperands(window), y },
      groups: (sizes) => [Math.ceil((weight.blocks * 32) / weight.format.step / WORKGROUP), y.rows(sizes)],
    });
  }
  return y;
}
