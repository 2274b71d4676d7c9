// Sparse attention: which blocks of 64 keys each block of 64 queries sees, as lib/blocks.listed.wgsl reads it.

import type { SparseAttention } from '../gpu/tape-options.ts';
import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { Columns } from './columns.ts';
import { groupMeans } from './group-means.ts';
import { fits, mostPixels } from './pixels.ts';

/** Queries of a block, and keys. */
export const BLOCK = 64;
/** Blocks of keys among which one workgroup chooses. */
const MOST_BLOCKS = 2048;
/** Fewer blocks are seen whole. */
const LEAST_BLOCKS = 3;
const WORKGROUP = 64;
/** Bits of a word. */
const WORD = 32;

/** Tokens of a clip, frame by frame and row by row. */
export interface TokenGrid {
  /** Tokens before those of the clip; left out: none. */
  first?: number;
  frames: number;
  rows: number;
  columns: number;
}

export interface SeenBlocks {
  /** u32 [item and head][block of queries][word]: a bit for each block of keys. */
  list: Tensor;
  /** Rows of the list from one head to the next; 0: all heads share them. */
  planes: number;
}

interface Attended {
  heads: number;
  kvHeads: number;
  dims: number;
  grid?: TokenGrid | undefined;
}

/** null: queries see all keys, because there are few, or too many to choose from, or a window is wanted and the tokens have no grid. */
export function seenBlocks(
  q: Columns,
  k: Columns,
  attended: Attended,
  choice: SparseAttention,
): SeenBlocks | null {
  const tape = tapeOf(q.x);
  const items = q.x.shape[0] as number;
  const [queries, keys] = [q, k].map(({ x }) => x.rows(tape.capacity) / items) as [number, number];
  const blocks = Math.ceil(keys / BLOCK);
  if (queries !== keys || blocks < LEAST_BLOCKS || blocks > MOST_BLOCKS) return null;
  if ([q, k].some(({ x }) => !fits(tape, x) && mostPixels(tape, x) < BLOCK)) return null;
  if (choice.window === null) return chosen(q, k, attended, { items, blocks, sparsity: choice.sparsity });
  return attended.grid ? within(tape, attended.grid, choice.window, blocks) : null;
}

/** The blocks whose mean key has the largest scores for the mean query, as many as are left of all by `sparsity`. */
function chosen(
  q: Columns,
  k: Columns,
  { heads, kvHeads, dims }: Attended,
  { items, blocks, sparsity }: { items: number; blocks: number; sparsity: number },
): SeenBlocks {
  const tape = tapeOf(q.x);
  const [queries, keys] = [
    groupMeans(q, { columns: heads * dims, rows: BLOCK }),
    groupMeans(k, { columns: kvHeads * dims, rows: BLOCK }),
  ];
  const list = tape.tensor([items, heads, blocks, Math.ceil(blocks / WORD)], 'u32');
  tape.dispatch('attend-choose.wgsl', {
    args: {
      heads,
      share: heads / kvHeads,
      head_quads: dims / 4,
      q_blocks: blocks,
      k_blocks: blocks,
      q_quads: queries.stride / 4,
      k_quads: keys.stride / 4,
      kept: Math.max(1, Math.round((1 - sparsity) * blocks)),
      words: list.stride,
    },
    bind: { q: queries, k: keys, y: list },
    groups: () => [blocks, heads, items],
  });
  return { list, planes: blocks };
}

/** The blocks that have a token within the window around one of the queries. */
function within(
  tape: Tape,
  { first = 0, frames, rows, columns }: TokenGrid,
  window: SparseAttention['window'] & object,
  blocks: number,
): SeenBlocks {
  const [far_frames, far_rows, far_columns] = window.map((extent) => Math.floor(extent / 2)) as [
    number,
    number,
    number,
  ];
  const list = tape.tensor([blocks, Math.ceil(blocks / WORD)], 'u32');
  tape.dispatch('attend-window.wgsl', {
    args: { first, frames, rows, columns, far_frames, far_rows, far_columns, blocks, words: list.stride },
    bind: { y: list },
    groups: () => [Math.ceil(list.stride / WORKGROUP), blocks],
  });
  return { list, planes: 0 };
}
