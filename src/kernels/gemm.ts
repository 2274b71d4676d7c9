// The product for many rows, on GPUs. Its sums differ in their order from those of matvec.ts and matmul.ts, and depend on no other row.

import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { Matrix, MatrixWindow } from './matrix.ts';
import { sharedTile, sharedTileOf } from './shared-tile.ts';
import { TILE_ROWS, type ProductKernel } from './tiling.ts';

/**
 * Whether this kernel multiplies x. Rows whose number varies from step to step always have it, so that they do not depend on that number; so do
 * those of which an item has enough, x [items, …, k], however many items there are.
 */
export function usesGemm(x: Tensor): boolean {
  const { plain, device, capacity } = tapeOf(x);
  if (plain || device.profile.sharedTiles === null) return false;
  const [items, ...rest] = x.shape;
  if (x.shape.some((extent) => typeof extent !== 'number')) return true;
  return x.rows(capacity) / (rest.length > 1 ? (items as number) : 1) >= TILE_ROWS;
}

/** `rows`: upper bound of the rows. `stripRows`: rows of the strip, which may end within its last tile. */
export function gemmKernel(
  tape: Tape,
  weight: Matrix,
  { rows, stripRows, window }: { rows: number; stripRows: number; window: MatrixWindow },
): ProductKernel {
  const { format, groups } = window;
  const tile = sharedTile(tape, { kernel: 'gemm', weight, format, rows, groups });
  return { shader: 'gemm.wgsl', args: { rows: stripRows }, ...tile };
}

/** The kernel for tiles whose rows a plan of experts fixes. `rows`: rows of all tiles. */
export function expertGemmKernel(tape: Tape, rows: number, tileRows: number): ProductKernel {
  return { shader: 'gemm.wgsl', args: { rows }, ...sharedTileOf(tape, tileRows) };
}
