// AltUp's four streams of a row, side by side in one tensor: what its kernels share.

import type { Tensor } from '../gpu/tensor.ts';

/** Number of streams. */
export const STREAMS = 4;

/** What makes four numbers of a row. */
export interface StreamRouter {
  /** [columns] */
  norm: Tensor;
  /** [4, columns] */
  matrix: Tensor;
  eps: number;
}

/** Columns of each stream of `streams` [rows, 4 · columns]. */
export function streamColumns(streams: Tensor): number {
  const columns = streams.columns / STREAMS;
  if (columns % 4 !== 0 || streams.stride !== streams.columns)
    throw new Error(`streams of ${columns} columns: a multiple of 32 is wanted`);
  return columns;
}
