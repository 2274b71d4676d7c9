// Paged attention over tiles of mixed prefill and decode rows: grouped queries, causal, with an optional window.

import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';
import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import { TILE_ROWS, type HeadShape, type KvPages, type TextBatch } from './batch.ts';

/** Eight lanes of four tokens each make a page; eight of four d's a pass. */
const LANES = 8;

/** q [rows, heads · dims] → [rows, heads · dims]; `window` null: all earlier tokens. */
export function attention(
  q: Tensor,
  batch: TextBatch,
  shape: HeadShape,
  kv: KvPages,
  window: number | null,
): Tensor {
  const tape = tapeOf(q);
  const { heads, kvHeads, dims } = shape;
  const y = tape.tensor(q.shape);
  const share = heads / kvHeads;
  const plain = tape.lanes < LANES;
  const { params, queries } = plain ? plainVariant(dims) : variant(tape, share, dims);
  tape.dispatch(plain ? 'attention-plain.wgsl' : 'attention.wgsl', {
    params: { ...params, KV: kv.format },
    args: { heads, kv_heads: kvHeads, dims, q_quads: q.stride / 4, window: window ?? 1000000 },
    bind: {
      q,
      rows: batch.rows,
      tiles: batch.tiles,
      pages: batch.pages,
      keys: kv.keys,
      values: kv.values,
      y,
    },
    groups: ({ tiles = 0, tileRows = 0 }) =>
      plain ? [tiles, heads, tileRows] : [tiles, kvHeads, Math.ceil((tileRows * share) / queries)],
  });
  return y;
}

interface Variant {
  params: Params;
  /** Queries a workgroup takes. */
  queries: number;
}

/**
 * Small tapes meet decode rows most: one row, `share` queries a key head. Larger ones read a page once for sixteen
 * queries of a prompt.
 */
function variant(tape: Tape, share: number, dims: number): Variant {
  const small = (tape.capacity['rows'] ?? 0) <= TILE_ROWS;
  const rowLanes = small ? ([1, 2, 4].find((lanes) => lanes >= share) ?? 8) : 8;
  const tiles = !small || share > 8 ? 2 : 1;
  return {
    params: { LANES: rowLanes, TILES: tiles, PASSES: Math.ceil(dims / 32) },
    queries: rowLanes * tiles,
  };
}

function plainVariant(dims: number): Variant {
  return { params: { QUADS: Math.ceil(dims / 128) }, queries: 1 };
}
