// Two tensors side by side.

import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import { cutPixels, view } from './pixels.ts';

/** Columns of a, then those of b; a [rows, n], b [rows, m] → [rows, n + m] in a's shape; rows are plain numbers */
export function concat(a: Tensor, b: Tensor): Tensor {
  const tape = tapeOf(a);
  const rows = a.rows({});
  if (b.rows({}) !== rows) throw new Error(`concat: [${a.shape.join(', ')}] and [${b.shape.join(', ')}]`);
  const y = tape.tensor([...a.shape.slice(0, -1), a.columns + b.columns]);
  for (const strip of cutPixels(tape, { first: 0, last: rows }, [a, b, y])) {
    const [ofA, ofB, ofY] = [view(tape, a, strip), view(tape, b, strip), view(tape, y, strip)];
    const count = strip.last - strip.first;
    const groups = Math.ceil((count * y.stride) / 4 / 64);
    const across = Math.min(groups, tape.device.capabilities.maxWorkgroups);
    tape.dispatch('concat.wgsl', {
      params: { ALIGNED: a.columns % 4 === 0 },
      args: {
        a_columns: a.columns,
        b_columns: b.columns,
        a_quads: a.stride / 4,
        b_quads: b.stride / 4,
        y_quads: y.stride / 4,
        rows: count,
        a_first: strip.first - ofA.first,
        b_first: strip.first - ofB.first,
        y_first: strip.first - ofY.first,
      },
      bind: { a: ofA.operand, b: ofB.operand, y: ofY.operand },
      groups: () => [across, Math.ceil(groups / across)],
    });
  }
  return y;
}
