// The product for rows of a decode step whose activations are rounded to 8 bits: integer codes times integers, four at a time. Its sums have the order of
// those of matvec.ts.

import type { Matrix } from './matrix.ts';
import { slicesOf } from './matvec.ts';
import type { ProductKernel } from './tiling.ts';

/** `rows`: rows of a tile, as many as matvecRows gives. `stripRows`: rows of the strip. */
export function matvecInt8Kernel({ blocks }: Matrix, rows: number, stripRows: number): ProductKernel {
  return {
    shader: 'matvec-int8.wgsl',
    rows,
    params: { ROWS: rows, SLICES: slicesOf(blocks) },
    args: { rows: stripRows },
    // Tiles that share weights run one after another, so that the later ones find them in the cache.
    workgroups: (groups, tiles) => [tiles, groups],
  };
}
