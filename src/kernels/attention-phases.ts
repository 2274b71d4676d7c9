// Paged attention on GPUs: decode rows and prompt rows have kernels of their own, whose sums differ in order. A row's result depends on
// its phase and its position, never on the other rows of a step, and not on how many queries a workgroup has, so that this may be tuned.

import type { Params } from '../gpu/linker.ts';
import type { Operand, Tape } from '../gpu/tape.ts';
import type { Sizes } from '../gpu/tensor.ts';
import type { Variant } from '../gpu/tuning.ts';
import { promptMatrixKernel, type PromptKernel } from './attention-prompt-matrix.ts';
import { PAGE_TOKENS, TILE_ROWS, type HeadShape, type KvFormat } from './batch.ts';
import { mostWork, type TileStrip } from './dispatch-work.ts';

/** Least pages of a decode row's chunk, and the largest number of chunks; as in shaders/lib/own-chunks.wgsl. */
const LEAST_PAGES = 4;
const MOST_CHUNKS = 64;
/** Most decode rows of a dispatch: their chunks are kept until they are merged. */
const STRIP = 32;
/** Lanes of a workgroup, each with four dimensions. */
const LANES = 128;

/** Variants of shaders/kv/read.*.wgsl: pages of a format, such without values, and such of which rows see chosen tokens. */
export type PagesVariant = KvFormat | `${'latent' | 'chosen'}-${'f16' | 'f32'}`;

/** Largest value that these kernels divide among the lanes of a workgroup. */
export const MOST_DIMS = 4 * LANES;

type Variants<T extends Variant> = [T, ...T[]];

export interface PhasedAttention {
  /** Whether the rows are decode rows, each with a tile of its own. */
  isDecode: boolean;
  /** Tiles of the dispatches for rows of prompts. */
  strips: readonly TileStrip[];
  /** Multiply-adds of a tile. */
  tileWork: (sizes: Sizes) => number;
  shape: HeadShape & { valueDims: number };
  window: number | null;
  /** Parameters of the kinds of pages, of scores and of segments; `sinks` alone concerns merging. */
  variants: { pages: { KV: PagesVariant }; scores: Params; sinks: Params; segment: { SEGMENT: string } };
  args: Record<string, number>;
  bind: Record<string, Operand>;
  /** The operands among `bind` that merging needs. */
  merged: Record<string, Operand>;
}

export function attendPhases(tape: Tape, attention: PhasedAttention): void {
  if (!attention.isDecode) {
    attendPrompt(tape, attention);
    return;
  }
  const { tiles: rows = 0, contextPages = 1 } = tape.capacity;
  const most = Math.floor(mostWork(tape) / attention.tileWork({ tileRows: 1, contextPages }));
  const each = Math.max(1, Math.min(STRIP, most));
  for (let first = 0; first < rows; first += each) {
    attendDecoded(tape, attention, { first, rows: Math.min(each, rows - first) });
  }
}

function attendPrompt(tape: Tape, attention: PhasedAttention): void {
  const { strips, shape, variants, args, bind } = attention;
  const { heads, kvHeads } = shape;
  const share = heads / kvHeads;
  const { shader, queries, params, tuned } = matrixKernel(tape, attention) ?? promptKernel(tape, attention);
  for (const { first, count } of strips) {
    tape.dispatch(shader, {
      ...(tuned !== undefined && { tuned }),
      params: { ...params, ...variants.scores, ...variants.sinks },
      args: { ...args, first_tile: first },
      bind,
      groups: (sizes) => [count(sizes), kvHeads, Math.ceil(((sizes['tileRows'] ?? 0) * share) / queries)],
    });
  }
}

/** The kernel on matrix units, which reads values of their own and no biases; null: there is none for these heads. */
function matrixKernel(tape: Tape, { shape, variants, bind }: PhasedAttention): PromptKernel | null {
  if (bind['held'] || !bind['values']) return null;
  if (['distance', 'slopes'].includes(String(variants.scores['CAP']))) return null;
  return promptMatrixKernel(tape, shape, variants.pages.KV as KvFormat);
}

function promptKernel(tape: Tape, attention: PhasedAttention): PromptKernel {
  const { heads, kvHeads, dims, valueDims } = attention.shape;
  const tuned = tuningKey('attention-prompt', tape, attention);
  const { each } = tape.device.tuning.choose(tuned, teamVariants(tape, heads / kvHeads, valueDims));
  return {
    shader: 'attention-prompt.wgsl',
    tuned,
    params: {
      DIMS: dims,
      VALUE_DIMS: valueDims,
      EACH: each,
      ...attention.variants.pages,
      ...attention.variants.segment,
    },
    queries: (LANES / 8) * each,
  };
}

/** Queries of eight lanes: so many that a lane's sums fit its registers and the workgroups of a tile are filled alike, or fewer. */
function teamVariants({ device }: Tape, share: number, dims: number): Variants<{ each: number }> {
  const { promptSums } = device.profile;
  const walkers = Math.floor((4 * LANES) / dims);
  const most = Math.min(4, Math.max(1, Math.floor((promptSums * walkers * 8) / LANES)));
  const all = Math.ceil((TILE_ROWS * share * 8) / LANES);
  const standard = Math.ceil(all / Math.ceil(all / most));
  return [{ each: standard }, ...[2, 1].filter((each) => each < standard).map((each) => ({ each }))];
}

/** Queries of a workgroup: all of a key head, as far as the profile allows, or fewer. Eight have a softmax of their own order of sums. */
function queryVariants({ device }: Tape, share: number): Variants<{ queries: number }> {
  const { decodeQueries } = device.profile;
  const standard = [1, 2, 4].find((count) => count >= Math.min(share, decodeQueries)) ?? 8;
  const fewer = standard > 4 ? [] : [2, 1].filter((queries) => queries < standard);
  return [{ queries: standard }, ...fewer.map((queries) => ({ queries }))];
}

/** Names attention of a shape in the results of tuning. */
function tuningKey(kernel: string, { capacity }: Tape, { shape, window, variants }: PhasedAttention): string {
  const { heads, kvHeads, dims } = shape;
  const seen = window === null ? '' : `, window ${window}`;
  return `${kernel} ${variants.pages.KV}, ${capacity['rows']} rows, ${heads} heads of ${dims} on ${kvHeads}${seen}`;
}

function attendDecoded(
  tape: Tape,
  attention: PhasedAttention,
  { first, rows }: { first: number; rows: number },
): void {
  const { shape, window, variants, args, bind, merged } = attention;
  const { heads, kvHeads, dims, valueDims } = shape;
  const share = heads / kvHeads;
  const tuned = tuningKey('attention-decode', tape, attention);
  const { queries } = tape.device.tuning.choose(tuned, queryVariants(tape, share));
  const chunksAt = (sizes: Sizes): number => chunksOf(sizes['contextPages'] ?? 1, window);
  const parts = tape.tensor([chunksAt(tape.capacity) * rows * heads, 4 + valueDims]);
  const rowsAt = ({ tiles = 0 }: Sizes): number => Math.max(0, Math.min(rows, tiles - first));
  const params = { VALUE_DIMS: valueDims, ...variants.sinks };
  const stripArgs = { ...args, rows, first_tile: first };
  tape.dispatch('attention-decode.wgsl', {
    tuned,
    params: { ...params, DIMS: dims, ...variants.pages, ...variants.scores, QUERIES: queries },
    args: stripArgs,
    bind: { ...bind, parts },
    groups: (sizes) => [rowsAt(sizes), kvHeads * chunksAt(sizes), Math.ceil(share / queries)],
  });
  tape.dispatch('attention-decode-merge.wgsl', {
    params,
    args: stripArgs,
    bind: { ...merged, parts },
    groups: (sizes) => (chunksAt(sizes) > 1 ? [rowsAt(sizes), heads] : [0]),
  });
}

/** Most chunks of a row in a step whose longest context has so many pages; see chunks_of in shaders/lib/own-chunks.wgsl. */
function chunksOf(contextPages: number, window: number | null): number {
  if (window === null) return Math.min(MOST_CHUNKS, Math.ceil(contextPages / LEAST_PAGES));
  const seen = Math.min(contextPages, Math.ceil((window - 1) / PAGE_TOKENS) + 1);
  // A window may begin within a chunk.
  return Math.min(MOST_CHUNKS, Math.ceil(seen / LEAST_PAGES)) + 1;
}
