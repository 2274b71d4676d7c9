// Dispatches of dense attention without matrix units: ranges of the queries of an item, or many items whole, and of their keys.

import type { Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import type { SeenBlocks, TokenGrid } from './attend-blocks.ts';
import type { Dots } from './attend-tile.ts';
import type { Variant } from './attend-variant.ts';
import { quadsOf, type Columns } from './columns.ts';
import { mostWork } from './dispatch-work.ts';
import { view } from './pixels.ts';
import type { PlaceGrid } from './place-terms.ts';

/** heads · dims columns of x, which is [items, …, columns]. */
export type HeadsOf = Columns;

export interface Attention {
  heads: number;
  /** Number of key heads, if several query heads share one. */
  kvHeads?: number;
  /** Dimensions of a head. Those that are not a multiple of 4 cost copies of all operands. */
  dims: number;
  /** Whether a query sees only keys up to its own position. */
  causal?: boolean;
  /** u32 [items]: number of keys of each item; keys beyond are masked. */
  keyCounts?: Tensor;
  /** Factor on the scores; default 1 / sqrt(dims). */
  scale?: number;
  /** Most work of a segment, as products of queries, keys and columns: more is divided by cuts of the tape. Left out: any. */
  mostWork?: number;
  /** f32 [1, queries + keys − 1, heads], added to the scores: row key − query + queries − 1 for a key and a query of an item. */
  bias?: Tensor;
  /** f32 [items, queries, heads · (rows + columns)], added to the scores: terms for the rows and for the columns of the grid in which keys lie. */
  placed?: { terms: Tensor; grid: PlaceGrid };
  /** The grid of a clip's tokens, which attend to each other; left out: they have none. */
  grid?: TokenGrid;
  /** Where devices divide tokens: the numbers of the sequences of which queries are, and keys; left out: all. */
  sequences?: { queries: readonly number[]; keys: readonly number[] };
  /** Whether each device has all keys, such as those of a text, also where it has a part of other tokens. */
  seesOwn?: true;
}

/** Many items whole, or ranges of at most `most` queries of one item; within the work of a segment. */
export function dividedParts(
  job: Job,
  items: number,
  { isWhole, most, tile }: { isWhole: boolean; most: number; tile: number },
): Omit<AttendRange, 'keys'>[] {
  const {
    attention: { heads, dims },
    all: { queries, keys },
  } = job;
  const worked = Math.floor(workOf(job) / (keys * heads * dims));
  if (isWhole && queries <= worked)
    return ranges(items, Math.floor(worked / queries)).map(([first, last]) => ({
      firstItem: first,
      items: last - first,
      queries: [0, queries],
    }));
  // Whole tiles of queries.
  const strip = Math.min(most, Math.max(1, Math.floor(worked / tile)) * tile);
  return Array.from({ length: items }, (_, firstItem) =>
    ranges(queries, strip).map((range) => ({ firstItem, items: 1, queries: range })),
  ).flat();
}

/** Most products of queries, keys and columns of a dispatch, each of which is two multiply-adds. */
export function workOf({ tape, attention }: Job): number {
  return Math.min(attention.mostWork ?? Infinity, mostWork(tape) / 2);
}

/** Fills in the defaults of an attention. */
export function withDefaults({
  heads,
  dims,
  kvHeads = heads,
  causal = false,
  scale = 1 / Math.sqrt(dims),
  ...rest
}: Attention) {
  return { ...rest, heads, dims, kvHeads, causal, scale };
}

export type Range = readonly [first: number, last: number];

export function ranges(count: number, most: number): Range[] {
  if (most < 1) throw new Error('attend: a row exceeds one binding');
  const each = Math.max(1, Math.min(count, most));
  return Array.from({ length: Math.ceil(count / each) }, (_, i) => [
    i * each,
    Math.min((i + 1) * each, count),
  ]);
}

export interface Job {
  tape: Tape;
  q: HeadsOf;
  k: HeadsOf;
  v: HeadsOf;
  y: Tensor;
  attention: Attention;
  /** Rows of one item. */
  all: { queries: number; keys: number };
  /** What q and k hold. */
  dots: Dots;
  /** The blocks of keys that queries see; null: all. */
  blocks: SeenBlocks | null;
}

/** Extent of one dispatch: many items whole, or ranges of one item's queries and keys. */
export interface AttendRange {
  firstItem: number;
  items: number;
  queries: Range;
  keys: Range;
  /** Whether no keys of other tensors come before these, or none behind; left out: none do. */
  isFirst?: boolean;
  isLast?: boolean;
}

/** Records one dispatch. `state` persists from one range of an item's keys to the next. */
export function record(
  job: Job & { variant: Variant },
  { firstItem, items, queries, keys, isFirst = true, isLast = true }: AttendRange,
  state: Tensor | null,
): void {
  const { tape, attention, variant, all, blocks } = job;
  const { heads, dims, kvHeads, causal, keyCounts, scale, bias, placed } = withDefaults(attention);
  const rows = (tensor: Tensor, ofItem: number, [first, last]: Range) => {
    const row = firstItem * ofItem + first;
    const { operand, first: begins } = view(tape, tensor, {
      first: row,
      last: row - first + last + (items - 1) * ofItem,
    });
    return { operand, row: row - begins };
  };
  const [q, y] = [job.q.x, job.y].map((tensor) => rows(tensor, all.queries, queries));
  const [k, v] = [job.k.x, job.v.x].map((tensor) => rows(tensor, all.keys, keys));
  const terms = placed && rows(placed.terms, all.queries, queries);
  const [from, to, of] = [quadsOf(job.q), quadsOf(job.k), quadsOf(job.v)];
  const count = queries[1] - queries[0];
  tape.dispatch(variant.shader, {
    ...(variant.tuned !== undefined && { tuned: variant.tuned }),
    params: {
      ...variant.params,
      KEYS: keyCounts ? 'counted' : 'all',
      SCORES: bias ? 'biased' : placed ? 'placed' : 'plain',
      CARRY: state ? 'held' : 'none',
      CONTINUES: keys[0] > 0 || !isFirst,
      ENDS: keys[1] === all.keys && isLast,
    },
    args: {
      first_item: firstItem,
      queries: count,
      first_query: queries[0],
      keys: keys[1] - keys[0],
      first_key: keys[0],
      heads,
      share: heads / kvHeads,
      dims,
      parts: variant.parts,
      q_row: q!.row,
      q_quads: from.stride,
      q_first: from.first,
      k_row: k!.row,
      k_quads: to.stride,
      k_first: to.first,
      v_row: v!.row,
      v_quads: of.stride,
      v_first: of.first,
      y_row: y!.row,
      y_quads: job.y.stride / 4,
      causal: Number(causal),
      bias_zero: all.queries - 1,
      bias_stride: (bias ?? placed?.terms)?.stride ?? 0,
      bias_row: terms?.row ?? 0,
      grid_rows: placed?.grid.rows ?? 0,
      grid_columns: placed?.grid.columns ?? 0,
      block_planes: blocks?.planes ?? 0,
      block_words: blocks?.list.stride ?? 0,
      scale: scale * Math.LOG2E,
    },
    bind: {
      q: q!.operand,
      k: k!.operand,
      v: v!.operand,
      y: y!.operand,
      ...(state ? { state } : {}),
      ...(keyCounts ? { key_counts: keyCounts } : {}),
      ...(bias ? { biases: bias } : {}),
      ...(terms ? { biases: terms.operand } : {}),
      ...(blocks ? { seen_blocks: blocks.list } : {}),
    },
    groups: () => [Math.ceil(count / variant.queriesAtOnce), heads * variant.parts, items],
  });
}
