// The tiles of lib/shared-tile.wgsl: products of many rows, whose inputs GPUs share through workgroup memory. Its sums add k after k, whatever the
// tile, so that the choice changes no result.

import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';

/** Columns of a tile, in groups of 32. */
const COLUMN_GROUPS = 4;

/** Rows of a tile, and the quads of rows and of columns of each of its 128 lanes. */
const TILES = [
  { rows: 64, rowQuads: 2, columnQuads: 2 },
  { rows: 32, rowQuads: 1, columnQuads: 2 },
  { rows: 16, rowQuads: 1, columnQuads: 1 },
];

export interface SharedTile {
  rows: number;
  params: Params;
  /** Workgroups for groups of 32 columns and tiles of rows. */
  workgroups: (groups: number, tiles: number) => readonly [number, number];
}

/** The largest tile that `rows` rows fill, and with which the product has enough workgroups to occupy the device. */
export function sharedTile({ device }: Tape, { rows, groups }: { rows: number; groups: number }): SharedTile {
  const wanted = device.profile.sharedTiles ?? 0;
  const across = Math.ceil(groups / COLUMN_GROUPS);
  const tile =
    TILES.find((one) => one.rows < 2 * rows && across * Math.ceil(rows / one.rows) >= wanted) ??
    TILES.at(-1)!;
  return {
    rows: tile.rows,
    params: { ROWS: tile.rows, ROW_QUADS: tile.rowQuads, COLUMN_QUADS: tile.columnQuads },
    workgroups: (count, tiles) => [Math.ceil(count / COLUMN_GROUPS), tiles],
  };
}
