// Divides a matrix product into workgroups: rows per tile, and lanes that own columns. Every output sums its k's in the same order
// with any tiling, so that the choice may depend on the adapter.

import type { Groups } from '../gpu/dispatch.ts';
import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';
import type { Variant } from '../gpu/tuning.ts';
import type { WeightFormat } from './formats.ts';
import type { Matrix } from './matrix.ts';

/** Rows per tile, and lanes, each of which has four columns. */
export interface Tiling extends Variant {
  rows: number;
  columnLanes: number;
}

export interface Product {
  kernel: string;
  weight: Matrix;
  /** Format of the window. */
  format: WeightFormat;
  /** Upper bound of the rows or pixels. */
  rows: number;
  /** Number of parts that K is divided into; a workgroup computes all of them. */
  splits: number;
  /** Rows per tile, if they are fixed. */
  tileRows?: number;
}

/** The tiling to record, and the key under which its time is stored. */
export interface Tiled {
  tuned: string;
  tiling: Tiling;
}

/** A kernel for a product, and how it is divided into workgroups. */
export interface ProductKernel {
  shader: string;
  /** Key under which its tiling is tuned. */
  tuned?: string;
  /** Rows per tile. */
  rows: number;
  params: Params;
  args: Readonly<Record<string, number>>;
  /** Workgroups for groups of 32 columns and tiles of rows. */
  workgroups: (groups: number, tiles: number) => Groups;
}

/** Least rows of a whole tile. */
export const TILE_ROWS = 16;
/** Tile heights that tuning tries if lanes share the rows; without lanes, larger tiles only take longer to compile. */
const OTHER_TILE_ROWS = [16, 24, 32];

export function tilingOf(tape: Tape, { kernel, weight, format, rows, splits, tileRows }: Product): Tiled {
  const { lanes, device } = tape;
  const tuned = productKey({ kernel, weight, format, rows });
  const { columnLanes } = device.capabilities;
  const standard = { rows: tileRows ?? standardRows(tape, weight, format), columnLanes };
  if (tape.plain) return { tuned, tiling: standard };
  const others = tileRows === undefined && lanes > 1 ? OTHER_TILE_ROWS : [];
  const wider = [2, 4].map((times) => ({ ...standard, columnLanes: times * columnLanes }));
  const variants = [
    ...others.filter((count) => count % lanes === 0).map((count) => ({ rows: count, columnLanes })),
    ...wider.filter((one) => one.columnLanes * splits <= device.capabilities.maxInvocations),
  ].filter((one) => one.rows !== standard.rows || one.columnLanes !== standard.columnLanes);
  return { tuned, tiling: device.tuning.choose(tuned, [standard, ...variants]) };
}

/** Names a product in the results of tuning. */
export function productKey({ kernel, weight, format, rows }: Omit<Product, 'splits'>): string {
  const { columns, k, taps } = weight;
  return `${kernel} ${format.name}, ${rows} rows, ${columns} columns, ${taps} x ${k}`;
}

/** Larger tiles share each load of a weight among more rows, if lanes share the rows. */
function standardRows({ lanes, device }: Tape, { winograd }: Matrix, format: WeightFormat): number {
  const { usual, winograd: ofWinograd } = device.profile.tileRows;
  const rows = winograd ? ofWinograd : usual;
  if (lanes === 1) return Math.min(rows, TILE_ROWS);
  if (rows % lanes !== 0) return TILE_ROWS;
  return format.tallTiles ? rows : Math.min(rows, TILE_ROWS);
}

/** A product whose K is not divided yet. */
interface Undivided {
  /** Number of lanes that it occupies. */
  lanes: number;
  /** Number of lanes that should be busy. */
  wanted: number;
  /** Blocks of 32 k's; each part gets at least two. */
  blocks: number;
}

/** Number of parts, a power of two, that a product's K is divided into; one workgroup computes all parts. */
export function splitsOf({ plain, device }: Tape, { lanes, wanted, blocks }: Undivided): number {
  const { profile, capabilities } = device;
  if (plain || !profile.splits) return 1;
  const most = Math.min(profile.splits.most, capabilities.maxInvocations / capabilities.columnLanes);
  let splits = 1;
  while (2 * splits <= most && lanes * splits < wanted && blocks >= 4 * splits) splits *= 2;
  return splits;
}
