// Keys and values of dense attention in f16, as attend-matrix.wgsl reads them.

import { tapeOf } from '../gpu/tape.ts';
import { paddedColumns, type Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';

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
}

/** Bytes of 32 keys of a head and of their values. */
export function halvedBytes(padded: number): number {
  return 4 * paddedColumns(KEY_BLOCK * padded + EXPONENT_WORDS);
}

/**
 * Rounds keys and values to f16, multiplied by powers of two, so that nothing becomes infinite that was finite: the largest key of a head and 32 keys then
 * lies in [2¹⁴, 2¹⁵), and so does the largest value. Keys beyond an item's own are zeros.
 * k and v [items, keys, m] → u32 [items, heads, blocks, 32 · padded + 4]
 */
export function halveKeys(k: Columns, v: Columns, { heads, dims, padded, keyCounts }: KeyHeads): Tensor {
  const tape = tapeOf(k.x);
  const [items] = k.x.shape as [number];
  const keys = k.x.rows(tape.capacity) / items;
  const blocks = Math.ceil(keys / KEY_BLOCK);
  const y = tape.tensor([items, heads, blocks, KEY_BLOCK * padded + EXPONENT_WORDS], 'u32');
  const [of, to] = [quadsOf(k), quadsOf(v)];
  tape.dispatch('halve-keys.wgsl', {
    params: { KEYS: keyCounts ? 'counted' : 'all' },
    args: {
      ...{ keys, first_key: 0, dims, heads, blocks, eighths: padded / 8, stride: y.stride / 4 },
      ...{ k_quads: of.stride, k_first: of.first, v_quads: to.stride, v_first: to.first },
    },
    bind: { k: k.x, v: v.x, y, ...(keyCounts ? { key_counts: keyCounts } : {}) },
    groups: () => [blocks, heads, items],
  });
  return y;
}
