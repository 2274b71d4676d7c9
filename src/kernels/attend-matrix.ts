// Dense attention on matrix units: queries, keys, weights and values are rounded to f16, sums are f32. What is rounded is multiplied by powers of two
// before, each query by its own and 32 keys of a head by one, so that results are finite wherever those of attend-shared.ts are. A query's
// result depends on its item alone.

import { fragmentParams } from '../gpu/matrix-units.ts';
import type { Tape } from '../gpu/tape.ts';
import { paddedRows, type Tensor } from '../gpu/tensor.ts';
import type { Variant } from '../gpu/tuning.ts';
import type { AttendShape } from './attend-tile.ts';
import { quadsOf, type Columns } from './columns.ts';
import { fits, mostPixels, view } from './pixels.ts';
import { halvedBytes, halveKeys, KEY_BLOCK } from './halve-keys.ts';
import { softmaxTiles, tileParams, type SoftmaxTile } from './softmax-tile.ts';

/** Queries of a workgroup. */
const ROWS = [64, 32];
/** Queries, and keys, of which there are fewer than rows of a tile leave matrix units idle. */
const LEAST = 64;

interface Tile extends Variant {
  rows: number;
}

export interface MatrixTile {
  /** Key under which its tile is tuned. */
  tuned: string;
  tile: SoftmaxTile;
}

/** The tile on matrix units; null: attention of this shape does not use them. */
export function attendMatrixTile({ device }: Tape, shape: AttendShape): MatrixTile | null {
  const { queries, keys, heads, dims } = shape;
  const { profile, capabilities } = device;
  if (profile.sharedTiles === null || profile.attendSums === null || Math.min(queries, keys) < LEAST)
    return null;
  const wanted = profile.sharedTiles;
  const tiles = softmaxTiles(capabilities, dims, ROWS);
  const standard = tiles.find(({ rows }) => heads * Math.ceil(queries / rows) >= wanted) ?? tiles.at(-1);
  if (standard === undefined) return null;
  const tuned = `attend-matrix, ${queries} queries, ${keys} keys, ${heads} heads of ${dims}`;
  const variants = [standard, ...tiles.filter((one) => one !== standard)].map(({ rows }) => ({ rows }));
  const { rows } = device.tuning.choose(tuned, variants as [Tile, ...Tile[]]);
  return { tuned, tile: tiles.find((one) => one.rows === rows)! };
}

export interface MatrixAttention {
  tape: Tape;
  q: Columns;
  k: Columns;
  v: Columns;
  /** [items, …, heads · dims] */
  y: Tensor;
  heads: number;
  kvHeads: number;
  dims: number;
  causal: boolean;
  keyCounts?: Tensor | undefined;
  scale: number;
}

/** Items whose queries, keys and values each fit a binding; 0: not even one item does, so that this kernel cannot compute them. */
export function itemsAtOnce({ tape, q, k, v, y, kvHeads }: MatrixAttention, { tile }: MatrixTile): number {
  const [items] = q.x.shape as [number];
  const { bindingLimit } = tape.device.capabilities;
  const blocks = Math.ceil(k.x.rows(tape.capacity) / items / KEY_BLOCK);
  const of = (tensor: Tensor): number =>
    fits(tape, tensor) ? items : Math.floor(mostPixels(tape, tensor) / (tensor.rows(tape.capacity) / items));
  const rounding = paddedRows(1); // a tensor's number of rows is rounded up to a multiple of this
  const lines = Math.floor(bindingLimit / (rounding * halvedBytes(tile.padded))) * rounding;
  const halved = Math.floor(lines / (kvHeads * blocks));
  return Math.min(items, halved, ...[q.x, k.x, v.x, y].map(of));
}

/** Items, and a range of the queries of each. */
export interface QueryPart {
  firstItem: number;
  items: number;
  queries: readonly [first: number, last: number];
}

/** Records the dispatches of a range of items, whose first one the parts count from. `between` follows each. */
export function attendOnMatrices(
  { tape, q, k, v, y, heads, kvHeads, dims, causal, keyCounts, scale }: MatrixAttention,
  { tuned, tile }: MatrixTile,
  range: readonly [first: number, last: number],
  { parts, between }: { parts: readonly QueryPart[]; between: () => void },
): void {
  const { device } = tape;
  const counts = keyCounts ? { keyCounts } : {};
  const kv = halveKeys(k, v, { heads: kvHeads, dims, padded: tile.padded, range, ...counts });
  const [items] = q.x.shape as [number];
  const ofItem = q.x.rows(tape.capacity) / items;
  const keys = k.x.rows(tape.capacity) / items;
  const pixels = { first: range[0] * ofItem, last: range[1] * ofItem };
  const [qRows, yRows] = [view(tape, q.x, pixels), view(tape, y, pixels)];
  const from = quadsOf(q);
  for (const { firstItem, items: count, queries } of parts) {
    const [first, last] = queries;
    const row = (range[0] + firstItem) * ofItem + first;
    tape.dispatch('attend-matrix.wgsl', {
      tuned,
      params: {
        ...fragmentParams(device.capabilities.matrixUnit!),
        ...tileParams(tile),
        LOADS_AHEAD: device.profile.loadsAhead,
        KEYS: keyCounts ? 'counted' : 'all',
      },
      args: {
        first_item: range[0] + firstItem,
        queries: last - first,
        first_query: first,
        keys,
        first_key: 0,
        heads,
        share: heads / kvHeads,
        dims,
        q_row: row - qRows.first,
        q_quads: from.stride,
        q_first: from.first,
        y_row: row - yRows.first,
        y_quads: y.stride / 4,
        first_kv: firstItem,
        causal: Number(causal),
        blocks: Math.ceil(keys / KEY_BLOCK),
        stride: kv.stride / 4,
        scale: scale * Math.LOG2E,
      },
      bind: { q: qRows.operand, kv, y: yRows.operand, ...(keyCounts ? { key_counts: keyCounts } : {}) },
      groups: () => [Math.ceil((last - first) / tile.rows), heads, count],
    });
    between();
  }
}
