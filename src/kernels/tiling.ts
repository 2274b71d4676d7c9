// How a product of matrices is cut into workgroups: rows of a tile, and lanes that own columns. Every output sums its k's in
// the same order however it is cut, so that the choice may follow the adapter.

import type { Tape } from '../gpu/tape.ts';
import type { Variant } from '../gpu/tuning.ts';
import type { Matrix } from './matrix.ts';

/** Rows of a tile, and four times as many columns as lanes. */
export interface Tiling extends Variant {
  rows: number;
  columnLanes: number;
}

export interface Product {
  kernel: string;
  weight: Matrix;
  /** Rows, or pixels, at most. */
  rows: number;
  /** Parts that K is shared out among; a workgroup holds all of them. */
  splits: number;
  /** Rows of a tile where they are given. */
  tileRows?: number;
}

/** What is recorded, and the name that its time goes by. */
export interface Tiled {
  tuned: string;
  tiling: Tiling;
}

/** Rows of a whole tile, at least. CPUs, which pay for every load, gain by more of them to a weight, a sixth and more on llvmpipe. */
export const TILE_ROWS = 16;
const CPU_TILE_ROWS = 24;
/** Of Winograd's products, which fetch their rows once for all columns: a tenth faster than 24. */
const CPU_WINOGRAD_ROWS = 32;
/** Without lanes to share the rows among, larger tiles only take longer to compile. */
const OTHER_TILE_ROWS = [16, 24, 32];

export function tilingOf(tape: Tape, { kernel, weight, rows, splits, tileRows }: Product): Tiled {
  const { lanes, device } = tape;
  const { columns, k, taps, format } = weight;
  const tuned = `${kernel} ${format}, ${rows} rows, ${columns} columns, ${taps} x ${k}`;
  const columnLanes = leastColumnLanes(tape);
  const standard = { rows: tileRows ?? standardRows(tape, weight), columnLanes };
  if (tape.plain) return { tuned, tiling: standard };
  const others = tileRows === undefined && lanes > 1 ? OTHER_TILE_ROWS : [];
  const wider = [2, 4].map((times) => ({ ...standard, columnLanes: times * columnLanes }));
  const variants = [
    ...others.filter((count) => count % lanes === 0).map((count) => ({ rows: count, columnLanes })),
    ...wider.filter((one) => one.columnLanes * splits <= device.capabilities.maxInvocations),
  ].filter((one) => one.rows !== standard.rows || one.columnLanes !== standard.columnLanes);
  return { tuned, tiling: device.tuning.choose(tuned, [standard, ...variants]) };
}

/** A CPU runs a workgroup of one subgroup a quarter faster than one of four, and wastes least at the last columns. */
function leastColumnLanes({ device: { summary, capabilities } }: Tape): number {
  return summary.software ? Math.max(8, summary.subgroupMaxSize) : capabilities.columnLanes;
}

/** int8 gains nothing by larger tiles, and compiles half as long again. */
function standardRows({ lanes, device }: Tape, { format, winograd }: Matrix): number {
  const rows = winograd ? CPU_WINOGRAD_ROWS : CPU_TILE_ROWS;
  const gains = device.summary.software && lanes > 1 && rows % lanes === 0 && format !== 'int8';
  return gains ? rows : TILE_ROWS;
}
