// Divides work among dispatches where one would exceed what the profile allows: drivers end dispatches that take seconds. The parts compute
// the same bits as the whole.

import type { Tape } from '../gpu/tape.ts';
import type { Sizes } from '../gpu/tensor.ts';
import { TILE_ROWS } from './tiling.ts';

/** Rows of the largest tile of a product. */
const LARGE_TILE = 64;

/** Most multiply-adds of a dispatch; Infinity: any number. */
export function mostWork({ device }: Tape): number {
  return device.profile.dispatchWork ?? Infinity;
}

/** Most rows of a dispatch that takes `rowWork` multiply-adds for each: whole tiles, and at least one. */
export function mostRows(tape: Tape, rowWork: number): number {
  const rows = mostWork(tape) / rowWork;
  if (rows === Infinity) return Infinity;
  const step = rows >= LARGE_TILE ? LARGE_TILE : TILE_ROWS;
  return Math.max(TILE_ROWS, Math.floor(rows / step) * step);
}

/** Tiles of one dispatch of attention. */
export interface TileStrip {
  first: number;
  /** Tiles of the strip in a step. */
  count(sizes: Sizes): number;
}

/**
 * One strip for steps that are within the bound as a whole, and for longer contexts strips of as few tiles as are within it. `tileWork`: most
 * multiply-adds of a tile, which may be all of a strip.
 */
export function tileStrips(tape: Tape, tileWork: (sizes: Sizes) => number): TileStrip[] {
  const { rows = 0, tiles: all = 0 } = tape.capacity;
  const bound = mostWork(tape);
  const fits = (sizes: Sizes): boolean => (sizes['tiles'] ?? 0) * tileWork(sizes) <= bound;
  if (fits(tape.capacity)) return [{ first: 0, count: ({ tiles = 0 }) => tiles }];
  const most = Math.max(1, Math.floor(bound / tileWork(tape.capacity)));
  const strips: TileStrip[] = [{ first: 0, count: (sizes) => (fits(sizes) ? sizes['tiles']! : 0) }];
  // So many tiles may be full; those beyond have few rows each.
  const full = 2 * Math.ceil(rows / TILE_ROWS);
  for (let first = 0, length = most; first < all; first += length) {
    length = first < full ? most : Math.max(most, TILE_ROWS);
    strips.push({ first, count: countIn(first, length, fits) });
  }
  return strips;
}

function countIn(first: number, length: number, fits: (sizes: Sizes) => boolean): TileStrip['count'] {
  return (sizes) => (fits(sizes) ? 0 : Math.max(0, Math.min(length, (sizes['tiles'] ?? 0) - first)));
}
