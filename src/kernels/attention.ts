// Paged attention over tiles of mixed prefill and decode rows: grouped queries, causal or in spans whose rows see each other, with an
// optional window.

import type { Dispatch } from '../gpu/dispatch.ts';
import type { Params } from '../gpu/linker.ts';
import { tapeOf, type Tape } from '../gpu/tape.ts';
import type { Sizes, Tensor } from '../gpu/tensor.ts';
import {
  assertHeads,
  PAGE_TOKENS,
  TILE_ROWS,
  type HeadShape,
  type KvPages,
  type StepPages,
  type TextBatch,
} from './batch.ts';
import {
  attentionArgs,
  biasOperand,
  scoresVariant,
  type AttentionRule,
  type ContextSegment,
} from './attention-rule.ts';
import { attendPhases, MOST_DIMS, type PagesVariant } from './attention-phases.ts';
import { tileStrips, type TileStrip } from './dispatch-work.ts';
import { isDecode } from './matvec.ts';
import { resizeHeads, storedHead } from './resize-heads.ts';

/** Eight lanes with four tokens each cover a page; eight lanes with four dimensions each are one pass. */
const LANES = 8;

/** Dimensions of a head above which a workgroup takes few queries. */
const LARGE_HEAD = 256;

/**
 * q [rows, heads · dims], as `ropeKv` gives it, → [rows, heads · valueDims]. A row sees no later token
 * but those of its span. A tape that knows the `contextPages` of its
 * longest sequence may divide a context among workgroups; results are the same on all tapes that know of as many. With a segment: → its y
 */
export function attention(
  q: Tensor,
  batch: TextBatch,
  shape: HeadShape,
  kv: KvPages | StepPages,
  rule: AttentionRule,
): Tensor {
  const tape = tapeOf(q);
  const { window, segment = null } = rule;
  const { heads, dims, valueDims = dims } = shape;
  assertHeads('attention', shape, (q.columns / storedHead(shape)) * dims, heads);
  assertValues(shape, kv, segment !== null);
  if (window !== null && !(window >= 1)) throw new Error(`attention: a window of ${window} tokens, under 1`);
  if (storedHead(shape) !== dims) return attendWidened(q, batch, shape, kv, rule);
  const made = valueDims === dims ? q.shape : [...q.shape.slice(0, -1), heads * valueDims];
  const y = segment?.y ?? tape.tensor(made);
  const { seen, variants, scores, bind, merged } = computation({ q, y }, batch, shape, kv, rule);
  const seenBefore = seen.SPANS ? null : window;
  const args = attentionArgs(tape, shape, { q, y }, rule);
  const tileWork = tileWorkOf(shape, seenBefore, segment);
  const strips = tileStrips(tape, tileWork);
  const isPhased = tape.device.profile.matvecRows !== null && valueDims <= MOST_DIMS;
  const SEGMENT = segment ? 'held' : 'none';
  if (tape.lanes < LANES || (segment && !isPhased)) {
    const params = { QUADS: Math.ceil(valueDims / 128), ...variants, ...scores, SEGMENT };
    attendPlain(tape, strips, { params, args, bind });
  } else if (isPhased) {
    const { KV, CAP } = scores;
    attendPhases(tape, {
      ...{ isDecode: isDecode(q), strips, tileWork, shape: { ...shape, valueDims }, window: seenBefore },
      variants: { pages: { KV }, scores: { ...seen, CAP }, sinks: variants, segment: { SEGMENT } },
      ...{ args, bind, merged },
    });
  } else {
    attendChunks(tape, strips, shape, { window: seenBefore, variants, scores, args, bind, merged });
  }
  return y;
}

/** What kernels of a rule are compiled with and bound to: tokens that rows see, those and sinks, scores; all operands, and those of merging. */
function computation(
  { q, y }: { q: Tensor; y: Tensor },
  batch: TextBatch,
  shape: HeadShape,
  kv: KvPages | StepPages,
  rule: AttentionRule,
) {
  const { window, chunked = false, bothSides = false, causal = false } = rule;
  const { cap = null, sinks = null, chosen = null, biases = null, segment = null } = rule;
  const SPANS = batch.spans && !causal;
  const BOTH_SIDES = bothSides && window !== null;
  if (BOTH_SIDES && !SPANS) throw new Error('attention: a window to both sides without spans');
  const CHUNKED = chunked && window !== null;
  if (CHUNKED && SPANS) throw new Error('attention: windows in chunks with spans');
  const seen = { SPANS, BOTH_SIDES, CHUNKED };
  const shares: Record<string, Tensor> = sinks ? { sinks } : {};
  const merged = { tiles: batch.tiles, y, ...shares };
  const pages = { pages: kv.table.pages, keys: kv.keys, ...(kv.values && { values: kv.values }) };
  return {
    seen,
    variants: { ...seen, SINKS: sinks ? 'each' : 'none' },
    scores: { KV: pagesVariant(kv, chosen !== null), CAP: scoresVariant(shape, rule) },
    bind: {
      ...{ ...merged, q, ...pages },
      ...(chosen && { chosen }),
      ...(segment && { held: segment.held }),
      ...biasOperand(shape, { cap, sinks, biases }),
    },
    merged,
  };
}

/** A context in chunks, each in a workgroup of its own where there is room, whose results are then merged. */
function attendChunks(
  tape: Tape,
  strips: readonly TileStrip[],
  { heads, kvHeads, dims, valueDims = dims }: HeadShape,
  { window, variants, scores, args, bind, merged }: Chunked,
): void {
  const { params, queries } = workgroupShape(tape, heads / kvHeads, valueDims);
  const { chunk, chunksAt, areApart } = chunking(tape, window);
  const rows = tape.capacity['rows'] ?? 0;
  const parts = areApart ? tape.tensor([chunksAt(tape.capacity) * rows * heads, 4 + valueDims]) : null;
  for (const { first, count } of strips) {
    tape.dispatch('attention.wgsl', {
      params: { ...params, ...variants, ...scores, CHUNK: chunk, CHUNKS: parts ? 'apart' : 'in-turn' },
      args: { ...args, first_tile: first },
      bind: parts ? { ...bind, parts } : bind,
      groups: (sizes) => [
        count(sizes),
        kvHeads * (parts ? chunksAt(sizes) : 1),
        Math.ceil(((sizes['tileRows'] ?? 0) * heads) / kvHeads / queries),
      ],
    });
  }
  if (!parts) return;
  tape.dispatch('attention-merge.wgsl', {
    params: { CHUNK: chunk, ...variants },
    args,
    bind: { ...merged, parts },
    groups: (sizes) => (chunksAt(sizes) > 1 ? [sizes['tiles'] ?? 0, heads, sizes['tileRows'] ?? 0] : [0]),
  });
}

/** What attention's kernels are given beside the tape and its tiles. */
interface Chunked extends Required<Pick<Dispatch, 'args' | 'bind'>> {
  window: number | null;
  variants: Params;
  scores: Params;
  /** Operands of merging. */
  merged: Required<Dispatch>['bind'];
}

/** Pages without values have them as the first dimensions of their keys; those of a segment may have values of other dimensions. */
function assertValues(
  { dims, valueDims = dims }: HeadShape,
  { values }: KvPages | StepPages,
  isSegment: boolean,
): void {
  const isPart = valueDims < dims;
  const isOwn = isSegment ? values !== null : valueDims <= dims && isPart === (values === null);
  if (!isOwn || (valueDims !== dims && valueDims % 4 > 0))
    throw new Error(`attention: values of ${valueDims} dimensions, keys of ${dims}`);
}

/** The variant of shaders/kv/read.*.wgsl for pages. */
function pagesVariant({ format, values }: KvPages | StepPages, isChosen: boolean): PagesVariant {
  if (isChosen && values !== null) throw new Error('attention: only tokens of latents are chosen');
  if (values !== null) return format;
  if (format === 'f16' || format === 'f32') return isChosen ? `chosen-${format}` : `latent-${format}`;
  throw new Error(`attention: values cannot be the dimensions of keys in codes (${format})`);
}

/** A workgroup is one query of one head. */
function attendPlain(
  tape: Tape,
  strips: readonly TileStrip[],
  { params, args, bind }: Required<Pick<Dispatch, 'params' | 'args' | 'bind'>>,
): void {
  for (const { first, count } of strips) {
    tape.dispatch('attention-plain.wgsl', {
      params,
      args: { ...args, first_tile: first },
      bind,
      groups: (sizes) => [count(sizes), args['heads']!, sizes['tileRows'] ?? 0],
    });
  }
}

/** Multiply-adds of a tile: scores and sums of values. */
function tileWorkOf(
  { heads, dims, valueDims = dims }: HeadShape,
  window: number | null,
  segment: ContextSegment | null,
): (sizes: Sizes) => number {
  return ({ tileRows = 0, contextPages = 1 }) => {
    const pages = Math.min(contextPages, segment?.pages ?? Infinity);
    const seen = Math.min(pages * PAGE_TOKENS, window === null ? Infinity : window + TILE_ROWS);
    return tileRows * heads * (dims + valueDims) * seen;
  };
}

/** Queries and pages have more dimensions behind each head, up to a multiple of 4; the result has none of them. */
function attendWidened(
  q: Tensor,
  batch: TextBatch,
  { alibi, ...shape }: HeadShape,
  kv: KvPages | StepPages,
  rule: AttentionRule,
): Tensor {
  const { heads, dims } = shape;
  const to = storedHead(alibi ? { dims, alibi } : { dims });
  const y = attention(q, batch, { ...shape, dims: to }, kv, rule);
  return resizeHeads({ x: y, first: 0 }, { heads, from: to, to: dims });
}

interface Chunking {
  /** Pages per chunk. */
  chunk: number;
  /** Largest number of chunks that the queries of a tile see. */
  chunksAt(sizes: Sizes): number;
  /** Whether each chunk has a workgroup of its own. */
  areApart: boolean;
}

/**
 * Small tapes have too few queries to occupy a device, so their chunks have separate workgroups; on large ones each workgroup
 * computes its whole context.
 */
function chunking(tape: Tape, window: number | null): Chunking {
  const { contextPages: most = 0 } = tape.capacity;
  const { chunkPages, chunks } = tape.device.profile.attention;
  const chunk = Math.max(chunkPages, Math.ceil(most / chunks));
  const seen = window === null ? Infinity : Math.ceil((window + TILE_ROWS) / PAGE_TOKENS / chunk) + 1;
  const chunksAt = ({ contextPages = 1 }: Sizes): number => Math.min(Math.ceil(contextPages / chunk), seen);
  return { chunk, chunksAt, areApart: isSmall(tape) && chunksAt(tape.capacity) > 1 };
}

/** Small tapes mostly run decode rows. */
function isSmall({ capacity }: Tape): boolean {
  return (capacity['rows'] ?? 0) <= TILE_ROWS;
}

interface WorkgroupShape {
  params: Params;
  /** Queries per workgroup. */
  queries: number;
}

/** A decode row has `share` queries per key head. Large tapes read a page once for sixteen queries of a prompt. */
function workgroupShape(tape: Tape, share: number, dims: number): WorkgroupShape {
  const small = isSmall(tape);
  // Heads as large as Gemma 4's would take too many registers, and minutes to compile, with more queries.
  const isLarge = dims > LARGE_HEAD;
  const most = isLarge ? 2 : 8;
  const rowLanes = small ? ([1, 2, 4].find((lanes) => lanes >= Math.min(share, most)) ?? 8) : most;
  const tiles = !isLarge && (!small || share > 8) ? 2 : 1;
  return {
    params: { LANES: rowLanes, TILES: tiles, PASSES: Math.ceil(dims / 32) },
    queries: rowLanes * tiles,
  };
}
