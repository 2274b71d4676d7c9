// Strips of whole rows of NHWC images, for kernels that read other rows than those they write: a strip of the result and the rows that it
// is computed from each fit one binding.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { fits, mostPixels, view, type View } from './pixels.ts';

/** Rows [first, last), counted over all images. */
export type RowRange = readonly [first: number, last: number];

export interface ImageStrip {
  rows: RowRange;
  x: View;
  y: View;
}

/** Divides the rows of y into strips; `sourceOf` returns the rows of x from which rows of y are computed. Widths are fixed numbers. */
export function imageStrips(
  tape: Tape,
  x: Tensor,
  y: Tensor,
  sourceOf: (rows: RowRange) => RowRange,
): ImageStrip[] {
  const [xWidth, yWidth] = [x, y].map(({ shape }) => shape[2] as number) as [number, number];
  const [xMost, yMost] = [x, y].map((tensor) =>
    fits(tape, tensor) ? Infinity : mostPixels(tape, tensor),
  ) as [number, number];
  const all = (y.shape[0] as number) * (y.shape[1] as number);
  const pixels = ([first, last]: RowRange, width: number) => ({ first: first * width, last: last * width });
  const allows = (rows: RowRange): boolean => {
    const [first, last] = sourceOf(rows);
    return (rows[1] - rows[0]) * yWidth <= yMost && (last - first) * xWidth <= xMost;
  };
  let count = all;
  while (!rangesOf(all, count).every(allows)) {
    if (count === 1) throw new Error(`a row of [${y.shape.join(', ')}] and its sources exceed a binding`);
    count = Math.ceil(count / 2);
  }
  return rangesOf(all, count).map((rows) => ({
    rows,
    x: view(tape, x, pixels(sourceOf(rows), xWidth)),
    y: view(tape, y, pixels(rows, yWidth)),
  }));
}

function rangesOf(all: number, count: number): RowRange[] {
  return Array.from({ length: Math.ceil(all / count) }, (_, i) => [
    i * count,
    Math.min(all, (i + 1) * count),
  ]);
}
