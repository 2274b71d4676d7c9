// The tiles of lib/matrix-tile.wgsl: products of many rows on matrix units. Their sums add k after k, whatever the tile, so that the choice changes
// no result.

import type { Capabilities } from '../gpu/capabilities.ts';
import { fragmentParams, type MatrixUnit } from '../gpu/matrix-units.ts';
import type { Tape } from '../gpu/tape.ts';
import type { Variant } from '../gpu/tuning.ts';
import { byOccupancy, COLUMN_GROUPS, type SharedTile } from './shared-tile.ts';
import { productKey, type Product } from './tiling.ts';

/** Columns of a tile. */
const COLUMNS = 32 * COLUMN_GROUPS;
/** Bytes of workgroup memory for 32 k's of a row or column, with their padding. */
const LINE_BYTES = 80;

interface Tile extends Variant {
  rows: number;
  lanes: number;
}

const TILES: readonly Tile[] = [
  { rows: 128, lanes: 256 },
  { rows: 64, lanes: 128 },
  { rows: 32, lanes: 128 },
];
/** A lane of Intel's has 128 registers, so that 64 sums would be spilled. */
const SMALL_SUBGROUP_TILES: readonly Tile[] = [
  { rows: 64, lanes: 256 },
  { rows: 32, lanes: 128 },
];

/** Whether products of many rows may run on the device's matrix unit. */
export function hasMatrixTiles({ plain, device: { profile, capabilities } }: Tape): boolean {
  return !plain && profile.sharedTiles !== null && matrixTiles(capabilities).length > 0;
}

/** Tiles, the largest first, for which a workgroup has lanes and memory; none without a matrix unit. */
export function matrixTiles({ matrixUnit, maxInvocations, workgroupBytes }: Capabilities): readonly Tile[] {
  if (matrixUnit === null) return [];
  return (matrixUnit.subgroup < 32 ? SMALL_SUBGROUP_TILES : TILES).filter(
    (tile) => tile.lanes <= maxInvocations && bytesOf(tile, matrixUnit) <= workgroupBytes,
  );
}

/** The largest tile that the rows fill, and with which the product has enough lanes to occupy the device; or the one that tuning found. */
export function matrixTile(
  { device }: Tape,
  { groups, ...product }: Omit<Product, 'splits' | 'tileRows'> & { groups: number },
): SharedTile {
  const { rows, format } = product;
  const { profile, capabilities, tuning } = device;
  const unit = capabilities.matrixUnit!;
  const { sharedTiles } = profile;
  const tuned = productKey(product);
  const tiles = byOccupancy(matrixTiles(capabilities), { rows, groups, sharedTiles }, ({ lanes }) => lanes);
  const tile = tuning.choose(tuned, tiles);
  const part = partOf(tile, unit);
  return {
    tuned,
    rows: tile.rows,
    params: {
      ...fragmentParams(unit),
      ROWS: tile.rows,
      LANES: tile.lanes,
      PART_ROWS: part.rows,
      PART_COLUMNS: part.columns,
      CLAMPED: format.name !== 'f16',
      ...(profile.loadsAhead ? {} : { LOADS_AHEAD: false }),
    },
    workgroups: (count, tiles) => [Math.ceil(count / COLUMN_GROUPS), tiles],
  };
}

/** Rows and columns of the part of a tile that a subgroup sums: as square as parts of whole groups of columns can be. */
function partOf({ rows, lanes }: Tile, { subgroup }: MatrixUnit): { rows: number; columns: number } {
  const outputs = (rows * COLUMNS * subgroup) / lanes;
  const partRows = Math.min(32, outputs / 32);
  return { rows: partRows, columns: outputs / partRows };
}

/** Bytes of workgroup memory of a tile: x, weights, and a row of fragments of each subgroup. */
function bytesOf({ rows, lanes }: Tile, { subgroup, rows: fragmentRows }: MatrixUnit): number {
  return (rows + COLUMNS) * LINE_BYTES + (lanes / subgroup) * fragmentRows * 32 * 4;
}
