// The grid of tiles into which a processor cuts an image: among all grids between two numbers of tiles, the one whose ratio of sides is
// closest to the image's. Of grids of one ratio, a larger one is taken if its tiles cover less than twice the image.

import type { TileLimits } from '../media.ts';
import { badRequest } from '../../files/error.ts';
import { field, say, subject } from '../../files/message.ts';

export interface TileGrid {
  columns: number;
  rows: number;
}

export interface TileBounds {
  min: number;
  max: number;
}

/**
 * Bounds of a request over those of the model. A bound that the request leaves out gives way to the other one. Throws bad_request for
 * bounds that exclude each other.
 */
export function tileBounds({ minTiles, maxTiles }: TileLimits, own: TileBounds): TileBounds {
  if (minTiles !== undefined && maxTiles !== undefined && minTiles > maxTiles) {
    const problem = say`${subject('minTiles')} is ${minTiles}, and ${field('maxTiles')} ${maxTiles}`;
    throw badRequest(say`${problem}: give a minimum that is not above the maximum`, 'minTiles');
  }
  const max = maxTiles ?? Math.max(own.max, minTiles ?? 1);
  return { min: minTiles ?? Math.min(own.min, max), max };
}

/** `side`: pixels along a side of a tile. */
export function closestGrid(
  { width, height }: { width: number; height: number },
  side: number,
  bounds: TileBounds,
): TileGrid {
  const ratio = width / height;
  let best = { columns: 1, rows: 1 };
  let least = Infinity;
  for (const grid of gridsWithin(bounds)) {
    const difference = Math.abs(ratio - grid.columns / grid.rows);
    const covers = side * side * grid.columns * grid.rows;
    if (difference < least || (difference === least && width * height > 0.5 * covers)) best = grid;
    least = Math.min(least, difference);
  }
  return best;
}

/** Grids by their numbers of tiles, those of one number by their columns. */
function gridsWithin({ min, max }: TileBounds): TileGrid[] {
  const grids: TileGrid[] = [];
  for (let tiles = min; tiles <= max; tiles++)
    for (let columns = 1; columns <= tiles; columns++)
      if (tiles % columns === 0) grids.push({ columns, rows: tiles / columns });
  return grids;
}
