// Dense attention: every query of an item attends to every key of that item; for images and their texts.

import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { attendMatrixTile, attendOnMatrices, itemsAtOnce } from './attend-matrix.ts';
import { seenBlocks, type SeenBlocks, type TokenGrid } from './attend-blocks.ts';
import { roundHeads, roundKeys } from './attend-codes.ts';
import { attendTile, type AttendShape, type Dots } from './attend-tile.ts';
import { variantOf, type Variant } from './attend-variant.ts';
import { quadsOf, type Columns } from './columns.ts';
import { mostWork } from './dispatch-work.ts';
import { gatherKeys } from './gather-tokens.ts';
import { fits, mostPixels, view } from './pixels.ts';
import { paddedHead, resizeHeads } from './resize-heads.ts';

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
  /** The grid of a clip's tokens, which attend to each other; left out: they have none. */
  grid?: TokenGrid;
}

/** Work of less than a second on a slow GPU, where drivers end what takes longer. */
export const SEGMENT_WORK = 2 ** 36;
/** Preferences of a tape under which matrix units are used where there are any. */
const MATRIX_KERNELS: ReadonlySet<string> = new Set(['auto', 'matrix']);

/** softmax(scale · q · kᵀ) · v; q [items, …, n], k and v [items, …, m], of all devices that share the tokens → [items, …, heads · dims] of q's rows */
export function attend(q: HeadsOf, k: HeadsOf, v: HeadsOf, attention: Attention): Tensor {
  const { split } = tapeOf(q.x);
  const { heads, kvHeads = heads, dims } = attention;
  const keyed = split ? gatherKeys(k, v, kvHeads * dims, split) : ([k, v] as const);
  return attendAll(q, ...keyed, attention);
}

function attendAll(q: HeadsOf, k: HeadsOf, v: HeadsOf, attention: Attention): Tensor {
  const { heads, dims } = attention;
  if (dims % 4 !== 0) return attendPadded(q, k, v, attention);
  const tape = tapeOf(q.x);
  const y = tape.tensor([...q.x.shape.slice(0, -1), heads * dims]);
  const shapes = [q, k, v].map(({ x }) => x.shape);
  const items = shapes[0]![0];
  if (typeof items !== 'number' || shapes.some((shape) => shape[0] !== items))
    throw new Error(`attend: q, k and v of [${shapes.join('], [')}], heads of ${dims}`);
  const queries = q.x.rows(tape.capacity) / items;
  const keys = k.x.rows(tape.capacity) / items;
  const shape = { queries, keys, heads: items * heads, dims };
  const usesMatrices = !tape.plain && MATRIX_KERNELS.has(tape.attention.kernels);
  const matrix = attention.bias || !usesMatrices ? null : attendMatrixTile(tape, shape);
  const given: Job = { tape, q, k, v, y, attention, all: { queries, keys }, dots: 'floats', blocks: null };
  const { maxWorkgroups } = tape.device.capabilities;
  if (matrix !== null && queries <= maxWorkgroups * matrix.tile.rows) {
    const all = { ...given, ...withDefaults(attention) };
    const atOnce = itemsAtOnce(all, matrix);
    for (const range of atOnce === 0 ? [] : ranges(items, atOnce)) {
      const { rows } = matrix.tile;
      const parts = dividedParts(given, range[1] - range[0], { isWhole: true, most: queries, tile: rows });
      const isDivided = parts.length > 1 || atOnce < items;
      attendOnMatrices(all, matrix, range, { parts, between: () => void (isDivided && tape.cut()) });
    }
    if (atOnce > 0) return y;
  }
  const job = preferred(given, shape);
  const isBound = [job.q.x, job.k.x, v.x, y].every((tensor) => fits(tape, tensor));
  const variant = variantOf(tape, shape, { dots: job.dots, isSparse: job.blocks !== null });
  const dispatched = maxWorkgroups * variant.queriesAtOnce;
  const isWhole = isBound && queries <= dispatched;
  const most = isWhole ? Infinity : Math.min(mostPixels(tape, job.q.x), mostPixels(tape, y), dispatched);
  const mostKeys = isWhole ? keys : Math.min(mostPixels(tape, job.k.x), mostPixels(tape, v.x));
  const parts = dividedParts(job, items, { isWhole, most, tile: variant.queriesAtOnce });
  for (const part of parts) {
    const [first, last] = part.queries;
    const state = isWhole ? null : tape.tensor([last - first, heads * variant.parts * 2]);
    for (const window of ranges(keys, mostKeys))
      record({ ...job, variant }, { ...part, keys: window }, state);
    if (workOf(job) < Infinity && parts.length > 1) tape.cut();
  }
  return y;
}

/** Queries and keys in 8 bits, or a list of the blocks that queries see, where the tape prefers that and a kernel has it. */
function preferred(job: Job, shape: AttendShape): Job {
  const { tape, q, k, attention } = job;
  const choice = tape.attention;
  const { heads, kvHeads, dims, causal, keyCounts, bias, grid } = withDefaults(attention);
  if (tape.plain || bias) return job;
  const has = (of: { dots: Dots; isSparse: boolean }): boolean => attendTile(tape, shape, of) !== null;
  if (choice.kernels === 'sage' && has({ dots: 'codes', isSparse: false }))
    return {
      ...job,
      q: roundHeads(q, { heads, dims }),
      k: roundKeys(k, { heads: kvHeads, dims }),
      dots: 'codes',
    };
  const seesAll = choice.kernels !== 'sparse' || causal || keyCounts !== undefined;
  if (seesAll || !has({ dots: 'floats', isSparse: true })) return job;
  return { ...job, blocks: seenBlocks(q, k, { heads, kvHeads, dims, grid }, choice) };
}

/** Heads with zeros behind, up to a multiple of 4; the result has none. */
function attendPadded(q: HeadsOf, k: HeadsOf, v: HeadsOf, attention: Attention): Tensor {
  const { heads, kvHeads = heads, dims, scale = 1 / Math.sqrt(dims) } = attention;
  const to = paddedHead(dims);
  const padded = (x: HeadsOf, count: number): HeadsOf => ({
    x: resizeHeads(x, { heads: count, from: dims, to }),
    first: 0,
  });
  const all = { ...attention, dims: to, scale };
  const y = attendAll(padded(q, heads), padded(k, kvHeads), padded(v, kvHeads), all);
  return resizeHeads({ x: y, first: 0 }, { heads, from: to, to: dims });
}

/** Many items whole, or ranges of at most `most` queries of one item; within the work of a segment. */
function dividedParts(
  job: Job,
  items: number,
  { isWhole, most, tile }: { isWhole: boolean; most: number; tile: number },
): Omit<Part, 'keys'>[] {
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
function workOf({ tape, attention }: Job): number {
  return Math.min(attention.mostWork ?? Infinity, mostWork(tape) / 2);
}

/** Fills in the defaults of an attention. */
function withDefaults({
  heads,
  dims,
  kvHeads = heads,
  causal = false,
  scale = 1 / Math.sqrt(dims),
  ...rest
}: Attention) {
  return { ...rest, heads, dims, kvHeads, causal, scale };
}

type Range = readonly [first: number, last: number];

function ranges(count: number, most: number): Range[] {
  if (most < 1) throw new Error('attend: a row exceeds one binding');
  const each = Math.max(1, Math.min(count, most));
  return Array.from({ length: Math.ceil(count / each) }, (_, i) => [
    i * each,
    Math.min((i + 1) * each, count),
  ]);
}

interface Job {
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
interface Part {
  firstItem: number;
  items: number;
  queries: Range;
  keys: Range;
}

/** Records one dispatch. `state` persists from one range of an item's keys to the next. */
function record(
  job: Job & { variant: Variant },
  { firstItem, items, queries, keys }: Part,
  state: Tensor | null,
): void {
  const { tape, attention, variant, all, blocks } = job;
  const { heads, dims, kvHeads, causal, keyCounts, scale, bias } = withDefaults(attention);
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
  const [from, to, of] = [quadsOf(job.q), quadsOf(job.k), quadsOf(job.v)];
  const count = queries[1] - queries[0];
  tape.dispatch(variant.shader, {
    ...(variant.tuned !== undefined && { tuned: variant.tuned }),
    params: {
      ...variant.params,
      KEYS: keyCounts ? 'counted' : 'all',
      SCORES: bias ? 'biased' : 'plain',
      CARRY: state ? 'held' : 'none',
      CONTINUES: keys[0] > 0,
      ENDS: keys[1] === all.keys,
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
      bias_stride: bias?.stride ?? 0,
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
      ...(blocks ? { seen_blocks: blocks.list } : {}),
    },
    groups: () => [Math.ceil(count / variant.queriesAtOnce), heads * variant.parts, items],
  });
}
