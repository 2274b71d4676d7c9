// Dense attention: every query of an item attends to every key of that item; for images and their texts.

import { tapeOf } from '../gpu/tape.ts';
import type { TokenSplit } from '../gpu/tape-options.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { giveHeads, takeHeads } from './attend-heads.ts';
import { attendMatrixTile, attendOnMatrices, itemsAtOnce } from './attend-matrix.ts';
import { seenBlocks } from './attend-blocks.ts';
import { roundHeads, roundKeys } from './attend-codes.ts';
import {
  dividedParts,
  ranges,
  record,
  withDefaults,
  workOf,
  type Attention,
  type HeadsOf,
  type Job,
} from './attend-record.ts';
import { attendInRing } from './attend-ring.ts';
import { attendTile, type AttendShape, type Dots } from './attend-tile.ts';
import { variantOf } from './attend-variant.ts';
import { allCount, chosenCounts, gatherKeys, ownCount, type Counts } from './gather-tokens.ts';
import { fits, mostPixels } from './pixels.ts';
import { paddedHead, resizeHeads } from './resize-heads.ts';

export type { Attention, HeadsOf };

/** Work of less than a second on a slow GPU, where drivers end what takes longer. */
export const SEGMENT_WORK = 2 ** 36;
/** Preferences of a tape under which matrix units are used where there are any. */
const MATRIX_KERNELS: ReadonlySet<string> = new Set(['auto', 'matrix']);

/** softmax(scale · q · kᵀ) · v; q [items, …, n], k and v [items, …, m], of all devices that share the tokens → [items, …, heads · dims] of q's rows */
export function attend(q: HeadsOf, k: HeadsOf, v: HeadsOf, attention: Attention): Tensor {
  const { split } = tapeOf(q.x);
  if (!split || split.counts.length === 0 || attention.seesOwn) return attendAll(q, k, v, attention);
  const { queries, keys } = attention.sequences ?? {};
  const counts = { queries: chosenCounts(split.counts, queries), keys: chosenCounts(split.counts, keys) };
  for (const [{ x }, each] of [[q, counts.queries] as const, [k, counts.keys] as const])
    if (x.shape[1] !== ownCount(each, split.rank))
      throw new Error(`attend: [${x.shape.join(', ')}] for ${ownCount(each, split.rank)} tokens`);
  return attendApart([q, k, v], split, counts, attention);
}

/** Attention among the tokens of all devices. */
function attendApart(
  own: readonly [q: HeadsOf, k: HeadsOf, v: HeadsOf],
  split: TokenSplit,
  counts: Record<'queries' | 'keys', Counts>,
  attention: Attention,
): Tensor {
  const { heads, kvHeads = heads, dims } = attention;
  const { heads: over, ring, rank } = split;
  const [q, k, v] = own;
  if (!over && !ring)
    return attendAll(q, ...gatherKeys({ k, v, columns: kvHeads * dims }, split, counts.keys), attention);
  const share = over?.ranks ?? 1;
  const groupOf = (each: Counts, group: number): Counts =>
    each.map((sequence) => sequence.slice(group * share, (group + 1) * share));
  const group = Math.floor(rank / share);
  const ofGroup = { queries: groupOf(counts.queries, group), keys: groupOf(counts.keys, group) };
  const parts = { columns: { queries: heads * dims, keys: kvHeads * dims }, counts: ofGroup };
  const [qs, ks, vs] = over ? takeHeads(own, over, parts) : own;
  const shared = { ...attention, heads: heads / share, kvHeads: kvHeads / share };
  const inRing = Array.from({ length: ring?.ranks ?? 1 }, (_, i) => allCount(groupOf(counts.keys, i)));
  const y = ring
    ? attendAround(qs, [ks, vs], { ring, counts: inRing }, shared)
    : attendAll(qs, ks, vs, shared);
  return over ? giveHeads(y, over, parts) : y;
}

function attendAll(q: HeadsOf, k: HeadsOf, v: HeadsOf, attention: Attention): Tensor {
  const { heads, dims } = attention;
  if (dims % 4 !== 0) return withPaddedHeads(q, k, v, attention, attendAll);
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
  const matrix = isBiased(attention) || !usesMatrices ? null : attendMatrixTile(tape, shape);
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
  const perQuery = [job.q.x, y, ...(attention.placed ? [attention.placed.terms] : [])];
  const isBound = [...perQuery, job.k.x, v.x].every((tensor) => fits(tape, tensor));
  const variant = variantOf(tape, shape, { dots: job.dots, isSparse: job.blocks !== null });
  const dispatched = maxWorkgroups * variant.queriesAtOnce;
  const isWhole = isBound && queries <= dispatched;
  const most = isWhole ? Infinity : Math.min(dispatched, ...perQuery.map((one) => mostPixels(tape, one)));
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

/** Whether the scores have terms of their own, which few kernels add. */
const isBiased = ({ bias, placed }: Attention): boolean => bias !== undefined || placed !== undefined;

/** Queries and keys in 8 bits, or a list of the blocks that queries see, where the tape prefers that and a kernel has it. */
function preferred(job: Job, shape: AttendShape): Job {
  const { tape, q, k, attention } = job;
  const choice = tape.attention;
  const { heads, kvHeads, dims, causal, keyCounts, grid } = withDefaults(attention);
  if (tape.plain || isBiased(attention)) return job;
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

/** Attention to the keys of a ring of devices; `counts`: tokens of each. */
function attendAround(
  q: HeadsOf,
  own: readonly [k: HeadsOf, v: HeadsOf],
  { ring, counts }: { ring: NonNullable<TokenSplit['ring']>; counts: readonly number[] },
  attention: Attention,
): Tensor {
  if (attention.dims % 4 === 0) return attendInRing(q, own, ring, counts, attention);
  return withPaddedHeads(q, ...own, attention, (qs, ks, vs, all) =>
    attendInRing(qs, [ks, vs], ring, counts, all),
  );
}

/** Attention of heads with zeros behind, up to a multiple of 4; the result has none. */
function withPaddedHeads(
  q: HeadsOf,
  k: HeadsOf,
  v: HeadsOf,
  attention: Attention,
  compute: typeof attendAll,
): Tensor {
  const { heads, kvHeads = heads, dims, scale = 1 / Math.sqrt(dims) } = attention;
  const to = paddedHead(dims);
  const padded = (x: HeadsOf, count: number): HeadsOf => ({
    x: resizeHeads(x, { heads: count, from: dims, to }),
    first: 0,
  });
  const all = { ...attention, dims: to, scale };
  const y = compute(padded(q, heads), padded(k, kvHeads), padded(v, kvHeads), all);
  return resizeHeads({ x: y, first: 0 }, { heads, from: to, to: dims });
}
