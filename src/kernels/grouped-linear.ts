// Linear layers in groups (1×1 convolutions with groups): columns of the result depend on the columns of their own group only.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { cutPixels, view } from './pixels.ts';

const WORKGROUP = 64;
/** Rows of a lane. */
const RUN = 8;

/** x [rows, columns], weight [columns, columns of a group], a multiple of 4 → the shape of x */
export function groupedLinear(x: Tensor, weight: Tensor): Tensor {
  const tape = tapeOf(x);
  const group = weight.columns;
  if (weight.shape[0] !== x.columns || group % 4 !== 0 || x.columns % group !== 0)
    throw new Error(
      `groupedLinear: [${x.shape.join(', ')}] by [${weight.shape.join(', ')}]: whole groups of multiples of 4 are wanted`,
    );
  const y = tape.tensor(x.shape);
  const all = { first: 0, last: x.rows(tape.capacity) };
  for (const pixels of cutPixels(tape, all, [x, y])) {
    const { first, last } = pixels;
    const [from, to] = [view(tape, x, pixels), view(tape, y, pixels)];
    tape.dispatch('grouped-linear.wgsl', {
      args: {
        group_quads: group / 4,
        weight_quads: weight.stride / 4,
        quads: x.columns / 4,
        row_quads: x.stride / 4,
        first,
        last,
        x_first: from.first,
        y_first: to.first,
      },
      bind: { x: from.operand, weight, y: to.operand },
      groups: () => [
        Math.ceil(x.stride / 4 / WORKGROUP),
        Math.min(Math.ceil((last - first) / RUN), tape.device.capabilities.maxWorkgroups),
      ],
    });
  }
  return y;
}
