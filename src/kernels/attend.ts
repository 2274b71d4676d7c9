// Dense attention: every query of an item to every key of that item, for pictures and their texts.

import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';
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

/** Lanes that work together; fewer take the plain variant. */
const LANES = 8;
/** Of eight queries each. */
const TILES = 2;

/** softmax(scale · q · kᵀ) · v; q [items, …, n], k and v [items, …, m] → [items, …, heads · dims] of q's rows */
export function attend(q: HeadsOf, k: HeadsOf, v: HeadsOf, attention: Attention): Tensor {
  const { heads, dims, kvHeads = heads, causal = false, keyCounts, scale = 1 / Math.sqrt(dims) } = attention;
  const tape = tapeOf(q.x);
  const y = tape.tensor([...q.x.shape.slice(0, -1), heads * dims]);
  const shapes = [q, k, v].map(({ x }) => x.shape);
  const items = shapes[0]![0];
  if (typeof items !== 'number' || shapes.some((shape) => shape[0] !== items) || dims % 4 !== 0)
    throw new Error(`attend: q, k and v of [${shapes.join('], [')}], heads of ${dims}`);
  const queries = q.x.rows(tape.capacity) / items;
  const { shader, params, parts, queriesAtOnce } = variant(tape, dims);
  const [from, to, of] = [quadsOf(q), quadsOf(k), quadsOf(v)];
  tape.dispatch(shader, {
    params: { ...params, KEYS: keyCounts ? 'counted' : 'all' },
    args: {
      queries,
      keys: k.x.rows(tape.capacity) / items,
      heads,
      share: heads / kvHeads,
      dims,
      parts,
      q_quads: from.stride,
      q_first: from.first,
      k_quads: to.stride,
      k_first: to.first,
      v_quads: of.stride,
      v_first: of.first,
      y_quads: y.stride / 4,
      causal: Number(causal),
      scale: scale * Math.LOG2E,
    },
    bind: { q: q.x, k: k.x, v: v.x, y, ...(keyCounts ? { key_counts: keyCounts } : {}) },
    groups: () => [Math.ceil(queries / queriesAtOnce), heads * parts, items],
  });
  return y;
}

interface Variant {
  shader: string;
  params: Params;
  /** Workgroups that share out a head's d's. */
  parts: number;
  /** Of a workgroup. */
  queriesAtOnce: number;
}

function variant(tape: Tape, dims: number): Variant {
  if (tape.lanes < LANES) {
    const params = { QUADS: Math.ceil(dims / 128) };
    return { shader: 'attend-plain.wgsl', params, parts: 1, queriesAtOnce: 1 };
  }
  const teams = tape.device.summary.software ? 1 : 4;
  const { parts, ...held } = valueParts(dims);
  return {
    shader: 'attend.wgsl',
    params: { TEAMS: teams, TILES, ...held },
    parts,
    queriesAtOnce: LANES * TILES * teams,
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
