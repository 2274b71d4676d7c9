// Keys and values of dense attention in f16, as attend-matrix.wgsl reads them.

import { tapeOf } from '../gpu/tape.ts';
import { paddedColumns, type Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';
import { view } from './pixels.ts';

/** Keys of a block. */
export const KEY_BLOCK = 32;
/** Words behind a block that tell what it was multiplied with. */
const EXPONENT_WORDS = 4;

export interface KeyHeads {
  /** Heads of keys, and of values. */
  heads: number;
  dims: number;
  /** Dimensions with zeros behind: a multiple of 8. */
  padded: number;
  /** u32 [items]: number of keys of each item. */
  keyCounts?: Tensor;
  /** Items to round; left out: all. */
  range?: readonly [first: number, last: number];
}

/** Bytes of 32 keys of a head and of their values. */
export function halvedBytes(padded: number): number {
  return 4 * paddedColumns(KEY_BLOCK * padded + EXPONENT_WORDS);
}

/**
 * Rounds keys and values to f16, multiplied by powers of two, so that nothing becomes infinite that was finite: the largest key of a head and 32 keys then
 * lies in [2¹⁴, 2¹⁵), and so does the largest value. Keys beyond an item's own are zeros.
 * k and v [items, keys, m] → u32 [items of the range, heads, blocks, 32 · padded + 4]
 */
export function halveKeys(
  k: Columns,
  v: Columns,
  { heads, dims, padded, keyCounts, range }: KeyHeads,
): Tensor {
  const tape = tapeOf(k.x);
  const [items] = k.x.shape as [number];
  const keys = k.x.rows(tape.capacity) / items;
  const [first, last] = range ?? [0, items];
  const blocks = Math.ceil(keys / KEY_BLOCK);
  const y = tape.tensor([last - first, heads, blocks, KEY_BLOCK * padded + EXPONENT_WORDS], 'u32');
  const pixels = { first: first * keys, last: last * keys };
  const [kRows, vRows] = [view(tape, k.x, pixels), view(tape, v.x, pixels)];
  const [kColumns, vColumns] = [quadsOf(k), quadsOf(v)];
  tape.dispatch('halve-keys.wgsl', {
    params: { KEYS: keyCounts ? 'counted' : 'all' },
    args: {
      first_item: first,
      keys,
      first_key: 0,
      dims,
      k_row: pixels.first - kRows.first,
      k_quads: kColumns.stride,
      k_first: kColumns.first,
      v_row: pixels.first - vRows.first,
      v_quads: vColumns.stride,
      v_first: vColumns.first,
      heads,
      blocks,
      eighths: padded / 8,
      stride: y.stride / 4,
    },
    bind: { k: kRows.operand, v: vRows.operand, y, ...(keyCounts ? { key_counts: keyCounts } : {}) },
    groups: () => [blocks, heads, last - first],
  });
  return y;
}
