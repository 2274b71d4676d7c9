// Convolutions on matrix units: pixels and weights are rounded to f16, sums are f32. All pixels of an image are multiplied by one power of two before
// that (image-factors.ts), so that results are finite wherever those of conv2d.ts are; pixels below a 2²⁸th of their image's largest keep fewer
// bits. Weights beyond ±65504 count as that, as in gemm-matrix.ts. The order of a sum depends on K and on the adapter's matrix unit alone.

import type { Convolution } from './convolution.ts';
import type { MatrixWindow } from './matrix.ts';
import { hasMatrixTiles, matrixTile } from './matrix-tile.ts';
import type { ProductKernel } from './tiling.ts';

/**
 * Whether this kernel computes it. Matrix units multiply f16 at twice (GeForce, RDNA 3) to sixteen times (A100, H100) the rate of f32, so that they win
 * over Winograd's form, too: that saves 2.25 times the products, in f32, and moves planes of four times the pixels. No GPU's profile has it.
 */
export function usesConv2dMatrix({ tape, weight }: Convolution): boolean {
  return hasMatrixTiles(tape) && !weight.winograd;
}

/** `rows`: pixels of all images. */
export function conv2dMatrixKernel(
  { tape, weight }: Convolution,
  { format, groups }: MatrixWindow,
  rows: number,
): ProductKernel {
  const tile = matrixTile(tape, { kernel: 'conv2d-matrix', weight, format, rows, groups });
  return { shader: 'conv2d-matrix.wgsl', args: {}, ...tile };
}
