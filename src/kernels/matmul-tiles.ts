// The tiles of matmul.wgsl and matmul-few.wgsl.

import type { Tape } from '../gpu/tape.ts';
import type { WeightFormat } from './formats.ts';
import type { Matrix } from './matrix.ts';
import { splitsOf, TILE_ROWS, tilingOf, type ProductKernel } from './tiling.ts';

/** Upper bounds of the rows of a product and of those in its strip, which may end within its last tile. */
interface ProductRows {
  rows: number;
  stripRows: number;
  /** Rows per tile, if they are fixed. */
  tileRows?: number;
}

/**
 * The kernel for rows of prompts, and for all rows where decode rows have none of their own. Both variants sum in the same order, so the choice
 * may depend on the number of rows without changing a token.
 */
export function matmulKernel(
  tape: Tape,
  weight: Matrix,
  format: WeightFormat,
  { rows, stripRows, tileRows }: ProductRows,
): ProductKernel {
  const SPLITS = splitsFor(tape, weight);
  const product = { kernel: 'matmul', weight, format, rows, splits: SPLITS };
  const { tuned, tiling } = tilingOf(tape, { ...product, ...(tileRows && { tileRows }) });
  const { columnLanes } = tiling;
  const shared = {
    tuned,
    rows: tiling.rows,
    workgroups: (groups: number, tiles: number) => [Math.ceil((groups * 8) / columnLanes), tiles] as const,
  };
  const params = { SPLITS, COLUMN_LANES: columnLanes };
  const { lanes } = tape;
  if (lanes > 1 && tiling.rows < TILE_ROWS) {
    const RUN = Math.min(lanes, 8);
    const few = { ...params, ROWS: tiling.rows, RUN };
    return {
      ...shared,
      shader: 'matmul-few.wgsl',
      params: few,
      args: { steps: (4 * RUN) / format.step, columns: weight.k, eps: 0 },
    };
  }
  const many = { ...params, LANES: lanes, TILES: tiling.rows / lanes };
  return { ...shared, shader: 'matmul.wgsl', params: many, args: { rows: stripRows } };
}

/** Number of parts that K is divided into; it depends on (N, K) only, so that a row's sum does not depend on the other rows. */
function splitsFor(tape: Tape, weight: Matrix): number {
  const wanted = tape.device.profile.splits?.matmulLanes ?? 0;
  return splitsOf(tape, { lanes: weight.columns / 4, wanted, blocks: weight.blocks });
}
