// The logit of one token, or by how much it is above that of another.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';

const WORKGROUP = 32;

/** x [rows, vocabulary] → [rows, 1]; `minus` null: nothing is subtracted. */
export function logitDifference(x: Tensor, plus: number, minus: number | null): Tensor {
  const tape = tapeOf(x);
  if (Math.max(plus, minus ?? 0) >= x.columns)
    throw new Error(`logitDifference: tokens ${plus} and ${minus} of ${x.columns}`);
  const y = tape.tensor([...x.shape.slice(0, -1), 1]);
  const quads = y.stride / 4;
  tape.dispatch('logit-difference.wgsl', {
    // Arguments are fixed when a tape is recorded, so that all rows of its capacity are computed.
    args: {
      x_stride: x.stride,
      y_quads: quads,
      quads: y.rows(tape.capacity) * quads,
      plus,
      minus: minus ?? 0,
      less: minus === null ? 0 : 1,
    },
    bind: { x, y },
    groups: (sizes) => [Math.ceil((y.rows(sizes) * quads) / WORKGROUP)],
  });
  return y;
}
