// The tiles of lib/softmax-tile.wgsl: how attention on matrix units divides queries, keys and dimensions among subgroups. A query's keys are visited in
// blocks of 32 whatever the tile is, and tiles of 32 queries or more sum a row's weights in one order. One of 16 queries has an order of its own.

import type { Capabilities } from '../gpu/capabilities.ts';
import type { MatrixUnit } from '../gpu/matrix-units.ts';
import { KEY_BLOCK } from './halve-keys.ts';

export interface SoftmaxTile {
  /** Queries of a workgroup. */
  rows: number;
  lanes: number;
  /** Dimensions of a head with those that fill whole fragments. */
  padded: number;
  /** Subgroups that share rows; each has a part of the keys of a block and of the dimensions. */
  columnParts: number;
}

/** Lanes of a row for heads of at most these dimensions, ascending, in tiles of 32 queries or more. */
const ROW_LANES = [
  { dims: 128, lanes: 2 },
  { dims: 256, lanes: 4 },
];
/** A lane of Intel's has 128 registers, so that it has half as many sums. */
const SMALL_SUBGROUP_ROW_LANES = [{ dims: 128, lanes: 4 }];
/** Workgroups with matrices have whole subgroups of the adapter's largest size. */
const LEAST_LANES = 64;
/** Most sums of a lane, which keeps inputs and scores beside them. */
const MOST_SUMS = 64;
/** Bytes of workgroup memory for 32 halves of a line, with their padding. */
const LINE_BYTES = 80;
/** Bytes of a row of scores. */
const SCORE_BYTES = 4 * (KEY_BLOCK + 4);

/** Tiles for heads of these dimensions by rows, the largest first; none where no workgroup holds one. */
export function softmaxTiles(
  { matrixUnit: unit, maxInvocations, workgroupBytes }: Capabilities,
  dims: number,
  rows: readonly number[],
): SoftmaxTile[] {
  if (unit === null) return [];
  const widths = unit.subgroup < 32 ? SMALL_SUBGROUP_ROW_LANES : ROW_LANES;
  const width = widths.find((row) => dims <= row.dims);
  if (width === undefined) return [];
  return rows.flatMap((count) => {
    const fitting = dividedTiles(unit, dims, {
      rows: count,
      lanes: Math.max(LEAST_LANES, count * width.lanes),
    }).filter(
      (tile) =>
        tile.lanes <= maxInvocations &&
        (tile.rows * tile.padded) / tile.lanes <= MOST_SUMS &&
        bytesOf(tile) <= workgroupBytes,
    );
    const best = fitting.toSorted((a, b) => a.padded - b.padded || loadsOf(unit, a) - loadsOf(unit, b))[0];
    return best ? [best] : [];
  });
}

export function tileParams({ rows, lanes, padded, columnParts }: SoftmaxTile) {
  return { ROWS: rows, LANES: lanes, DIMS: padded, COLUMN_PARTS: columnParts };
}

/** All ways to divide a tile among subgroups in whole fragments. */
function dividedTiles(
  unit: MatrixUnit,
  dims: number,
  { rows, lanes }: { rows: number; lanes: number },
): SoftmaxTile[] {
  const subgroups = lanes / unit.subgroup;
  return [1, 2, 4, 8].flatMap((columnParts) => {
    const step = Math.max(columnParts * unit.columns, unit.depth);
    const partRows = (rows * columnParts) / subgroups;
    const isWhole =
      columnParts <= subgroups &&
      partRows % unit.rows === 0 &&
      partRows <= rows &&
      (KEY_BLOCK / columnParts) % unit.columns === 0;
    return isWhole ? [{ rows, lanes, padded: Math.ceil(dims / step) * step, columnParts }] : [];
  });
}

/** Fragments that a subgroup loads for a block of keys. */
function loadsOf(unit: MatrixUnit, { rows, lanes, padded, columnParts }: SoftmaxTile): number {
  const rowFragments = (rows * columnParts * unit.subgroup) / lanes / unit.rows;
  const fragments = (columns: number): number => columns / columnParts / unit.columns;
  return (
    (padded / unit.depth) * (rowFragments + fragments(KEY_BLOCK)) +
    (KEY_BLOCK / unit.depth) * (rowFragments + fragments(padded))
  );
}

/** Workgroup memory, as lib/softmax-tile.wgsl declares it. */
function bytesOf({ rows, padded }: SoftmaxTile): number {
  const chunks = Math.ceil(padded / 32);
  const halves = (chunks + 1) * rows + Math.max(chunks * KEY_BLOCK, padded);
  return halves * LINE_BYTES + rows * SCORE_BYTES + 4;
}
