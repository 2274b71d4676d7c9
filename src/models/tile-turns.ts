// Many tiles pass a tower's layers in turns, so that their intermediates take a bounded room.

import type { Tensor } from '../gpu/tensor.ts';
import { takeRows } from '../kernels/copy-rows.ts';

/** Tiles that pass the layers together, and values of their widest intermediate; the others wait. */
const MOST_AT_ONCE = 4;
const MOST_VALUES = 2 ** 25;

/** `values`: those of a tile's widest intermediate. */
export function tilesAtOnce(values: number): number {
  return Math.max(1, Math.min(MOST_AT_ONCE, Math.floor(MOST_VALUES / values)));
}

/** Runs a tower on some tiles after the others; patches [tiles, count, columns] */
export function inTurns(patches: Tensor, atOnce: number, run: (patches: Tensor) => Tensor): Tensor[] {
  const [tiles, count] = patches.shape as [number, number];
  return Array.from({ length: Math.ceil(tiles / atOnce) }, (_, i) => {
    const before = i * atOnce;
    return run(takeRows(patches, before * count, [Math.min(atOnce, tiles - before), count]));
  });
}
