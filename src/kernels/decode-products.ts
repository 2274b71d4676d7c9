// Which kernel multiplies the rows of a decode step where a result may depend on how many there are (`TapeOptions.promptProducts`): the slices of
// matvec.ts, or the tiles of a prompt's rows. Both are compared by the instructions of their lanes for a weight and the share of the device that they
// occupy. The figures are those of Mesa's compiler NAK in int4 on Hopper; those for RDNA 3 are within a fifth of them.

import type { Device } from '../gpu/device.ts';
import type { Tape } from '../gpu/tape.ts';
import { matrixTiles } from './matrix-tile.ts';
import type { Matrix } from './matrix.ts';
import { matvecRows } from './matvec.ts';
import { COLUMN_GROUPS, TILE_LANES, tileHeights } from './shared-tile.ts';

/** Instructions for a weight in a tile, for decoding and sharing it, and for each row of the tile. */
interface Cost {
  weight: number;
  row: number;
}

const MATVEC: Cost = { weight: 3.4, row: 1.36 };
const GEMM: Cost = { weight: 18, row: 1.2 };
const GEMM_MATRIX: Cost = { weight: 5.6, row: 0.24 };

/** Share of the instructions that tiles must save: what they cost where they are not filled was not measured. */
const LEAST_GAIN = 0.2;

/** Whether the kernel of prompts takes clearly less time for the product of at most `rows` decode rows. */
export function isFasterAsPrompt(tape: Tape, weight: Matrix, rows: number): boolean {
  const { device } = tape;
  const height = matvecRows(tape, rows);
  const sliced = Math.ceil(rows / height) * instructions(MATVEC, height);
  return tiledInstructions(device, weight, rows) < (1 - LEAST_GAIN) * sliced;
}

/** Instructions for a weight in the tiles that suit the product best, as if they occupied the device. */
function tiledInstructions({ profile, capabilities }: Device, { columns }: Matrix, rows: number): number {
  const units = matrixTiles(capabilities);
  const cost = units.length > 0 ? GEMM_MATRIX : GEMM;
  const tiles =
    units.length > 0 ? units : tileHeights(profile).map((height) => ({ rows: height, lanes: TILE_LANES }));
  const across = Math.ceil(columns / (32 * COLUMN_GROUPS));
  const costs = tiles.map((tile) => {
    const count = Math.ceil(rows / tile.rows);
    const occupied = (across * count * tile.lanes) / ((profile.sharedTiles ?? 0) * TILE_LANES);
    return (count * instructions(cost, tile.rows)) / Math.min(1, occupied);
  });
  return Math.min(...costs);
}

function instructions({ weight, row }: Cost, rows: number): number {
  return weight + row * rows;
}
