// Dense attention: every query of an item to every key of that item, for pictures and their texts.

import type { Tape } from '../gpu/tape.ts';
import type { Params } from '../gpu/linker.ts';
import { tapeOf, type Tensor } from '../gpu/tensor.ts';
import { quadsOf, type Columns } from './columns.ts';

/** heads · dims columns of x, which is [items, …, columns]. */
export type HeadsOf = Columns;

export interface Attention {
  heads: number;
  /** Fewer where several query heads share keys. */
  kvHeads?: number;
  /** Dimensions of a head; a multiple of 4. */
  dims: number;
  /** A query sees keys up to its own place. */
  causal?: boolean;
  /** u32 [items]: keys of each item; what lies beyond is masked. */
  keyCounts?: Tensor;
  /** On q; 1 / sqrt(dims) where left out. */
  scale?: number;
}

/** Eight lanes of four keys each; the values' d's lie four or one a lane. */
const LANES = 8;

/** softmax(scale · q · kᵀ) · v; q [items, …, n], k and v [items, …, m] → [items, …, heads · dims] of q's rows */
export function attend(q: HeadsOf, k: HeadsOf, v: HeadsOf, attention: Attention): Tensor {
  const { heads, dims, kvHeads = heads, causal = false, keyCounts, scale = 1 / Math.sqrt(dims) } = attention;
  const tape = tapeOf(q.x);
  const y = tape.tensor([...q.x.shape.slice(0, -1), heads * dims]);
  const items = q.x.shape[0];
  if (typeof items !== 'number' || k.x.shape[0] !== items || v.x.shape[0] !== items || dims % 4 !== 0)
    throw new Error(
      `attend: q, k, v of [${q.x.shape.join()}], [${k.x.shape.join()}], [${v.x.shape.join()}], ${dims} d's`,
    );
  const queries = q.x.rows(tape.capacity) / items;
  const keys = k.x.rows(tape.capacity) / items;
  const { shader, params, groups } = variant(tape, dims);
  const [from, to, of] = [quadsOf(q), quadsOf(k), quadsOf(v)];
  tape.dispatch(shader, {
    params: { ...params, KEYS: keyCounts ? 'counted' : 'all' },
    args: {
      queries,
      keys,
      heads,
      share: heads / kvHeads,
      dims,
      q_quads: from.stride,
      q_first: from.first,
      k_quads: to.stride,
      k_first: to.first,
      v_quads: of.stride,
      v_first: of.first,
      y_quads: y.stride / 4,
      causal: Number(causal),
      scale,
    },
    bind: { q: q.x, k: k.x, v: v.x, y, ...(keyCounts ? { key_counts: keyCounts } : {}) },
    groups: () => groups(queries, heads, items),
  });
  return y;
}

interface Variant {
  shader: string;
  params: Params;
  groups: (queries: number, heads: number, items: number) => [number, number, number];
}

function variant(tape: Tape, dims: number): Variant {
  if (tape.lanes < LANES) {
    return {
      shader: 'attend-plain.wgsl',
      params: { QUADS: Math.ceil(dims / 128) },
      groups: (queries, heads, items) => [queries, heads, items],
    };
  }
  const tiles = 2;
  const { parts, ...held } = valueParts(dims);
  return {
    shader: 'attend.wgsl',
    params: { TILES: tiles, ...held },
    groups: (queries, heads, items) => [Math.ceil(queries / (LANES * tiles)), heads * parts, items],
  };
}

/** How a head's d's are laid over lanes, and over workgroups where one would hold too many. */
function valueParts(dims: number): { QUADS: number; SINGLES: number; parts: number } {
  if (dims > 160) {
    const quads = [5, 4, 3, 2, 1].find((count) => dims % (32 * count) === 0);
    if (quads === undefined) throw new Error(`attend: heads of ${dims} are no multiple of 32`);
    return { QUADS: quads, SINGLES: 0, parts: dims / (32 * quads) };
  }
  return dims % 8 === 0
    ? { QUADS: Math.floor(dims / 32), SINGLES: (dims % 32) / 8, parts: 1 }
    : { QUADS: Math.ceil(dims / 32), SINGLES: 0, parts: 1 };
}
