// The product for many rows whose activations are rounded to 8 bits, on GPUs without matrix units: those multiply f16 at least as fast as other lanes
// multiply integers, and round less. A sum adds its blocks of k's in order, whatever the tile.

import type { Device } from '../gpu/device.ts';
import type { Tape } from '../gpu/tape.ts';
import type { Variant } from '../gpu/tuning.ts';
import type { Matrix, MatrixWindow } from './matrix.ts';
import { byOccupancy, COLUMN_GROUPS } from './shared-tile.ts';
import { productKey, type ProductKernel } from './tiling.ts';

/** Rows of a tile, and those of each of its lanes. */
interface Tile extends Variant {
  rows: number;
  laneRows: number;
}

const TILES: readonly Tile[] = [
  { rows: 64, laneRows: 8 },
  { rows: 32, laneRows: 8 },
  { rows: 16, laneRows: 4 },
];
/** Where loads ahead spill registers, sums of eight rows do, too. */
const SMALL_TILES: readonly Tile[] = [
  { rows: 32, laneRows: 4 },
  { rows: 16, laneRows: 4 },
];

/** `rows`: upper bound of the rows. `stripRows`: rows of the strip, which may end within its last tile. */
export function gemmInt8Kernel(
  { device }: Tape,
  weight: Matrix,
  { rows, stripRows, window }: { rows: number; stripRows: number; window: MatrixWindow },
): ProductKernel {
  const { format, groups } = window;
  const { loadsAhead, sharedTiles } = device.profile;
  const able = loadsAhead ? TILES : SMALL_TILES;
  const tuned = productKey({ kernel: 'gemm-int8', weight, format, rows });
  const tile = device.tuning.choose(tuned, byOccupancy(able, { rows, groups, sharedTiles }, lanesOf));
  return { tuned, ...kernelOf(device, tile, stripRows) };
}

/** The kernel for tiles whose rows a plan of experts fixes, 16, 32 or 64. `rows`: rows of all tiles. */
export function expertGemmInt8Kernel({ device }: Tape, rows: number, tileRows: number): ProductKernel {
  const able = device.profile.loadsAhead ? TILES : [...SMALL_TILES, ...TILES];
  const tile = able.find((one) => one.rows === tileRows);
  if (!tile) throw new Error(`expertGemmInt8Kernel: no tile has ${tileRows} rows`);
  return kernelOf(device, tile, rows);
}

function kernelOf({ profile }: Device, { rows, laneRows }: Tile, stripRows: number): ProductKernel {
  return {
    shader: 'gemm-int8.wgsl',
    rows,
    params: {
      LANE_ROWS: laneRows,
      ROW_LANES: rows / laneRows,
      ...(profile.loadsAhead ? {} : { LOADS_AHEAD: false }),
    },
    args: { rows: stripRows },
    workgroups: (count, tiles) => [Math.ceil(count / COLUMN_GROUPS), tiles],
  };
}

function lanesOf({ rows, laneRows }: Tile): number {
  return (32 * rows) / laneRows;
}
