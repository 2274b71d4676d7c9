// The product for rows of a decode step, on GPUs: K is spread over the lanes of a workgroup, so that many bytes of weights are in flight.
// The order of its sums depends on K alone, and differs from that of matmul.ts. A tape names its decode rows (`TapeOptions.decodes`). Its owner
// decides whether a row is one by the row itself, so that a row sums alike whatever runs beside it.

import { tapeOf, type Tape } from '../gpu/tape.ts';
import { paddedRows, type Tensor } from '../gpu/tensor.ts';
import type { WeightFormat } from './formats.ts';
import { BLOCK, type Matrix } from './matrix.ts';
import type { ProductKernel } from './tiling.ts';

/** Bounds of the slices of K, of eight lanes each: a workgroup may always have 256 lanes. */
const [LEAST_SLICES, MOST_SLICES] = [8, 32];
/** Most rows of a tile: each takes eight lanes at the end, and the smallest workgroup has eight times LEAST_SLICES. */
const MOST_ROWS = LEAST_SLICES;

/** Whether the rows of x are decode rows. */
export function isDecode(x: Pick<Tensor, 'tape' | 'shape'>): boolean {
  const { decodes, plain } = tapeOf(x);
  return !plain && x.shape.some((extent) => typeof extent === 'string' && decodes.includes(extent));
}

/** Rows of a tile for at most `rows` rows. */
export function matvecRows({ device }: Tape, rows: number): number {
  return Math.min(paddedRows(rows), device.profile.matvecRows ?? 1, MOST_ROWS);
}

/** How the product norms the rows of x: shaders/lib/norm.*. */
export interface RowNorm {
  variant: 'rms' | 'scaled';
  eps: number;
}

/** `rows`: rows of a tile, at most MOST_ROWS. */
export function matvecKernel(
  { k, blocks }: Matrix,
  { step }: WeightFormat,
  rows: number,
  norm: RowNorm | null = null,
): ProductKernel {
  return {
    shader: 'matvec.wgsl',
    rows,
    params: { ROWS: rows, SLICES: slicesOf(blocks), NORM: norm?.variant ?? 'none' },
    args: { steps: BLOCK / step, columns: k, eps: norm?.eps ?? 0 },
    // Tiles that share weights run one after another, so that the later ones find them in the cache.
    workgroups: (groups, tiles) => [tiles, groups],
  };
}

/** Slices of a K of so many blocks: of at least two each, as far as there are as many. */
export function slicesOf(blocks: number): number {
  let slices = MOST_SLICES;
  while (slices > LEAST_SLICES && blocks < 2 * slices) slices /= 2;
  return slices;
}
