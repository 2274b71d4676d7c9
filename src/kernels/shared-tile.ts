// The tiles of lib/shared-tile.wgsl: products of many rows, whose inputs GPUs share through workgroup memory. Its sums add k after k, whatever the
// tile, so that the choice changes no result.

import type { AdapterProfile } from '../gpu/adapter-profile.ts';
import type { Device } from '../gpu/device.ts';
import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';
import type { Variant } from '../gpu/tuning.ts';
import { productKey, type Product } from './tiling.ts';

/** Columns of a tile, in groups of 32. */
export const COLUMN_GROUPS = 4;
/** Lanes of a workgroup, which computes a tile. */
export const TILE_LANES = 128;

/** Rows of a tile, and the quads of rows and of columns of each of its 128 lanes. */
interface Tile extends Variant {
  rows: number;
  rowQuads: number;
  columnQuads: number;
}

const TILES: readonly Tile[] = [
  { rows: 64, rowQuads: 2, columnQuads: 2 },
  { rows: 32, rowQuads: 1, columnQuads: 2 },
  { rows: 16, rowQuads: 1, columnQuads: 1 },
];

export interface SharedTile {
  /** Key under which its tile is tuned, unless its rows are fixed. */
  tuned?: string;
  rows: number;
  params: Params;
  /** Workgroups for groups of 32 columns and tiles of rows. */
  workgroups: (groups: number, tiles: number) => readonly [number, number];
}

/**
 * The largest tile that `rows` rows fill, and with which the product has enough workgroups to occupy the device; or the one that tuning found.
 * `groups`: of 32 columns.
 */
export function sharedTile(
  { device }: Tape,
  { groups, ...product }: Omit<Product, 'splits' | 'tileRows'> & { groups: number },
): SharedTile {
  const { rows } = product;
  const { sharedTiles, sharedRows } = device.profile;
  const wanted = sharedTiles ?? 0;
  const across = Math.ceil(groups / COLUMN_GROUPS);
  const standard =
    TILES.filter((one) => one.rows <= sharedRows).find(
      (one) => one.rows < 2 * rows && across * Math.ceil(rows / one.rows) >= wanted,
    ) ?? TILES.at(-1)!;
  const tuned = productKey(product);
  const tile = device.tuning.choose(tuned, [standard, ...TILES.filter((one) => one !== standard)]);
  return { tuned, ...shapeOf(device, tile) };
}

/** The tile of so many rows, 16, 32 or 64. */
export function sharedTileOf({ device }: Tape, rows: number): SharedTile {
  const tile = TILES.find((one) => one.rows === rows);
  if (!tile) throw new Error(`sharedTileOf: no tile has ${rows} rows`);
  return shapeOf(device, tile);
}

/**
 * Tiles by preference: the first of `able`, the largest first, that the rows fill and with which the product has enough lanes to occupy the device, or
 * the smallest; then the others. `groups`: of 32 columns.
 */
export function byOccupancy<T extends { rows: number }>(
  able: readonly T[],
  { rows, groups, sharedTiles }: { rows: number; groups: number; sharedTiles: number | null },
  lanesOf: (tile: T) => number,
): [T, ...T[]] {
  const across = Math.ceil(groups / COLUMN_GROUPS);
  const wanted = (sharedTiles ?? 0) * TILE_LANES;
  const standard =
    able.find(
      (tile) => tile.rows < 2 * rows && across * Math.ceil(rows / tile.rows) * lanesOf(tile) >= wanted,
    ) ?? able.at(-1)!;
  return [standard, ...able.filter((one) => one !== standard)];
}

/** Rows of the tiles of a profile, the largest first. */
export function tileHeights({ sharedRows }: AdapterProfile): number[] {
  return TILES.map(({ rows }) => rows).filter((rows) => rows <= sharedRows);
}

/** Rows of a tile of which a matrix may expect `expected` rows: a larger one would compute more rows that are not used than rows that are. */
export function sharedTileRows({ device }: Tape, expected: number): number {
  const { sharedRows } = device.profile;
  return (TILES.find(({ rows }) => rows <= sharedRows && rows < 2 * expected) ?? TILES.at(-1)!).rows;
}

function shapeOf({ profile }: Device, { rows, rowQuads, columnQuads }: Tile): SharedTile {
  return {
    rows,
    params: {
      ROWS: rows,
      ROW_QUADS: rowQuads,
      COLUMN_QUADS: columnQuads,
      ...(profile.loadsAhead ? {} : { LOADS_AHEAD: false }),
    },
    workgroups: (count, tiles) => [Math.ceil(count / COLUMN_GROUPS), tiles],
  };
}
