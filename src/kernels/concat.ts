// Concatenates the columns of two tensors.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { stripsOf } from './row-strips.ts';

const WORKGROUP = 64;

/** Columns of a followed by those of b, row by row; a [rows, n], b [rows, m] → [rows, n + m] in a's shape */
export function concat(a: Tensor, b: Tensor): Tensor {
  const tape = tapeOf(a);
  if (b.rows(tape.capacity) !== a.rows(tape.capacity))
    throw new Error(`concat: [${a.shape.join(', ')}] and [${b.shape.join(', ')}] must have equal rows`);
  const y = tape.tensor([...a.shape.slice(0, -1), a.columns + b.columns]);
  for (const strip of stripsOf(tape, [a, b, y], Infinity)) {
    const rows = strip.count(tape.capacity);
    const groups = Math.ceil((rows * y.stride) / 4 / WORKGROUP);
    const across = Math.min(groups, tape.device.capabilities.maxWorkgroups);
    tape.dispatch('concat.wgsl', {
      params: { ALIGNED: a.columns % 4 === 0 },
      args: {
        a_columns: a.columns,
        b_columns: b.columns,
        a_quads: a.stride / 4,
        b_quads: b.stride / 4,
        y_quads: y.stride / 4,
        rows,
      },
      bind: { a: strip.of(a), b: strip.of(b), y: strip.of(y) },
      groups: (sizes) => [across, Math.ceil((strip.count(sizes) * y.stride) / 4 / WORKGROUP / across)],
    });
  }
  return y;
}
