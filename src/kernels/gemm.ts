// The product for many rows, on GPUs: x and the decoded weights are shared through workgroup memory. Its sums add k after k, so that they
// differ in their order from those of matvec.ts and matmul.ts, and depend on no other row.

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { ProductKernel } from './tiling.ts';

/** Columns of a workgroup, in groups of 32. */
const COLUMN_GROUPS = 4;

/** Rows of a tile, and the quads of rows and of columns of each of its 128 lanes. */
const TILES = [
  { rows: 16, rowQuads: 1, columnQuads: 1 },
  { rows: 32, rowQuads: 1, columnQuads: 2 },
  { rows: 64, rowQuads: 2, columnQuads: 2 },
];

/** Fixed numbers of rows from which on the rows of a tile are used. */
const LEAST_ROWS = 16;

/** Whether this kernel multiplies x. Rows whose number varies from step to step always have it, so that they do not depend on that number. */
export function usesGemm(x: Tensor): boolean {
  const { plain, device, capacity } = tapeOf(x);
  if (plain || !device.profile.gemm) return false;
  return x.shape.some((extent) => typeof extent === 'string') || x.rows(capacity) >= LEAST_ROWS;
}

/** `rows`: upper bound of the rows. `stripRows`: rows of the strip, which may end within its last tile. */
export function gemmKernel({ rows, stripRows }: { rows: number; stripRows: number }): ProductKernel {
  const tile = TILES.find((one) => one.rows >= rows) ?? TILES.at(-1)!;
  return {
    shader: 'gemm.wgsl',
    rows: tile.rows,
    params: { ROWS: tile.rows, ROW_QUADS: tile.rowQuads, COLUMN_QUADS: tile.columnQuads },
    args: { rows: stripRows },
    workgroups: (groups, tiles) => [Math.ceil(groups / COLUMN_GROUPS), tiles],
  };
}
