// The product for many rows whose activations are rounded to 8 bits, on GPUs without matrix units: those multiply f16 at least as fast as other lanes
// multiply integers, and round less.

import type { Tape } from '../gpu/tape.ts';
import type { Matrix, MatrixWindow } from './matrix.ts';
import { sharedTile, sharedTileOf } from './shared-tile.ts';
import type { ProductKernel } from './tiling.ts';

const SHADER = 'gemm-int8.wgsl';

/** `rows`: upper bound of the rows. `stripRows`: rows of the strip, which may end within its last tile. */
export function gemmInt8Kernel(
  tape: Tape,
  weight: Matrix,
  { rows, stripRows, window }: { rows: number; stripRows: number; window: MatrixWindow },
): ProductKernel {
  const { format, groups } = window;
  const tile = sharedTile(tape, { kernel: 'gemm-int8', weight, format, rows, groups });
  return { shader: SHADER, args: { rows: stripRows }, ...tile };
}

/** The kernel for tiles whose rows a plan of experts fixes. `rows`: rows of all tiles. */
export function expertGemmInt8Kernel(tape: Tape, rows: number, tileRows: number): ProductKernel {
  return { shader: SHADER, args: { rows }, ...sharedTileOf(tape, tileRows) };
}
