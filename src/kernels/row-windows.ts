// Windows of neighbouring rows as one row each: a convolution along the rows of a sequence is then a product with a matrix.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { cutPixels, fits, mostPixels, view } from './pixels.ts';
import { walkers } from './walkers.ts';

export interface RowWindows {
  /** Rows of a window. */
  taps: number;
  /** Rows from one window to the next. */
  step: number;
  /** Zeros before the first row and behind the last one make the windows centred; false: windows are within the rows. Left out: true. */
  isPadded?: boolean;
}

/** x [items, n, columns] → [items, windows, columns · taps]; the taps of a column follow each other, as in stored kernels. */
export function rowWindows(x: Tensor, { taps, step, isPadded = true }: RowWindows): Tensor {
  const [items, n, columns] = x.shape as [number, number, number];
  if (x.shape.length !== 3 || (isPadded ? taps % 2 === 0 : taps > n))
    throw new Error(
      `rowWindows: [${x.shape.join(', ')}] in windows of ${taps}: three extents, and an odd number or rows for it, are wanted`,
    );
  const tape = tapeOf(x);
  const m = isPadded ? Math.ceil(n / step) : Math.floor((n - taps) / step) + 1;
  const before = isPadded ? (taps - 1) / 2 : 0;
  const y = tape.tensor([items, m, columns * taps]);
  const sourceOf = (row: number, tap: number): number => {
    const inItem = Math.min(Math.max((row % m) * step + tap - before, 0), n - 1);
    return Math.floor(row / m) * n + inItem;
  };
  const most = fits(tape, x) ? Infinity : Math.floor((mostPixels(tape, x) - taps) / step);
  if (most < 1) throw new Error(`rowWindows: a window of [${x.shape.join(', ')}] exceeds one binding`);
  for (const { first, last } of cutPixels(tape, { first: 0, last: items * m }, [y], most)) {
    const source = view(tape, x, { first: sourceOf(first, 0), last: sourceOf(last - 1, taps - 1) + 1 });
    const target = view(tape, y, { first, last });
    tape.dispatch('row-windows.wgsl', {
      args: {
        columns,
        taps,
        step,
        before,
        x_rows: n,
        y_rows: m,
        x_stride: x.stride,
        y_stride: y.stride,
        x_first: source.first,
        y_first: target.first,
        first,
        rows: last - first,
      },
      bind: { x: source.operand, y: target.operand },
      groups: () => walkers(tape, (last - first) * y.stride),
    });
  }
  return y;
}
