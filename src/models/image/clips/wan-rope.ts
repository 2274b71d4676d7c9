// Positions of the tokens of a Wan clip, (frame, row, column), and the rotation of each pair of a head's dimensions there.

import { badRequest } from '../../../files/error.ts';
import { rotationsAt } from '../flux-rope.ts';
import { checkPatches, type PatchGrid } from '../patch-grid.ts';
import type { WanConfig } from './wan-config.ts';

const THETA = 10000;

/** Frames of latents, and rows and columns of their patches. */
export interface ClipGrid extends PatchGrid {
  frames: number;
}

/** Returns rows of (cos, sin) pairs, [tokens, dims]. */
export function wanRotations(
  { axes, positions }: Pick<WanConfig, 'axes' | 'positions'>,
  grid: ClipGrid,
): Float32Array<ArrayBuffer> {
  checkWanClip({ positions }, grid);
  return rotationsAt(clipPlaces(grid), axes, THETA);
}

/** Frame, row and column of each token. */
export function clipPlaces({ frames, rows, columns }: ClipGrid): number[][] {
  return Array.from({ length: frames * rows * columns }, (_, i) => [
    Math.floor(i / (rows * columns)),
    Math.floor(i / columns) % rows,
    i % columns,
  ]);
}

/** Throws bad_request for a clip of more frames of latents, or more patches along a side, than the model has positions for. */
export function checkWanClip(
  { positions }: Pick<WanConfig, 'positions'>,
  { frames, rows, columns }: ClipGrid,
): void {
  checkPatches({ rows, columns }, { rows: positions, columns: positions });
  if (frames <= positions) return;
  const message = `a clip of ${frames} frames of latents exceeds the model's ${positions}: choose fewer frames`;
  throw badRequest(message, 'frames');
}
