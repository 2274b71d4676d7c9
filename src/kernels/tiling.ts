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

/** The tiling to record, and the key that its time is kept under. */
export interface Tiled {
  tuned: string;
  tiling: Tiling;
}

/** Rows of a whole tile, at least. */
export const TILE_ROWS = 16;
/** Tile heights offered to tuning where lanes share the rows; without lanes, larger tiles only take longer to compile. */
const OTHER_TILE_ROWS = [16, 24, 32];

export function tilingOf(tape: Tape, { kernel, weight, rows, splits, tileRows }: Product): Tiled {
  const { lanes, device } = tape;
  const { columns, k, taps, format } = weight;
  const tuned = `${kernel} ${format.name}, ${rows} rows, ${columns} columns, ${taps} x ${k}`;
  const { columnLanes } = device.capabilities;
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

/** Larger tiles share the loads of a weight among more rows, where there are lanes to share the rows among. */
function standardRows({ lanes, device }: Tape, { format, winograd }: Matrix): number {
  const { usual, winograd: ofWinograd } = device.profile.tileRows;
  const rows = winograd ? ofWinograd : usual;
  return format.tallTiles && lanes > 1 && rows % lanes === 0 ? rows : TILE_ROWS;
}

/** A product before its K is divided. */
interface Undivided {
  /** Lanes that it occupies. */
  lanes: number;
  /** Lanes that should be busy. */
  wanted: number;
  /** Blocks of 32 k's, of which a part gets two at least. */
  blocks: number;
}

/** Parts, a power of two, that a product's K is divided into; one workgroup holds all parts. */
export function splitsOf({ plain, device }: Tape, { lanes, wanted, blocks }: Undivided): number {
  const { profile, capabilities } = device;
  if (plain || !profile.splits) return 1;
  const most = Math.min(profile.splits.most, capabilities.maxInvocations / capabilities.columnLanes);
  let splits = 1;
  while (2 * splits <= most && lanes * splits < wanted && blocks >= 4 * splits) splits *= 2;
  return splits;
}
