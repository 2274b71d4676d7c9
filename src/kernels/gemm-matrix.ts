// The product for many rows on matrix units: x and the weights are rounded to f16, sums are f32. A row is multiplied by a power of two before it
// is rounded, so that results are finite wherever those of gemm.ts are; weights beyond ±65504, f16's largest number, count as that, and those
// below 2⁻¹⁴ keep fewer bits: they are off by at most 2⁻²⁴ where the adapter has subnormal numbers. The order of a sum depends on K and on the
// adapter's matrix unit alone.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { usesGemm } from './gemm.ts';
import type { Matrix, MatrixWindow } from './matrix.ts';
import { hasMatrixTiles, matrixTile } from './matrix-tile.ts';
import type { ProductKernel } from './tiling.ts';

/** Whether this kernel multiplies x. */
export function usesGemmMatrix(tape: Tape, x: Tensor): boolean {
  return usesGemm(x) && hasMatrixTiles(tape);
}

/** `rows`: upper bound of the rows. `stripRows`: rows of the strip, which may end within its last tile. */
export function gemmMatrixKernel(
  tape: Tape,
  weight: Matrix,
  { rows, stripRows, window }: { rows: number; stripRows: number; window: MatrixWindow },
): ProductKernel {
  const { format, groups } = window;
  const tile = matrixTile(tape, { kernel: 'gemm-matrix', weight, format, rows, groups });
  return { shader: 'gemm-matrix.wgsl', args: { rows: stripRows }, ...tile };
}
