// Paged attention on GPUs: decode rows and prompt rows have kernels of their own, whose sums differ in order. A row's result depends on
// its phase and its position, never on the other rows of a step.

import type { Params } from '../gpu/linker.ts';
import type { Operand, Tape } from '../gpu/tape.ts';
import type { Sizes } from '../gpu/tensor.ts';
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

/** Largest head that these kernels divide among the lanes of a workgroup. */
export const MOST_DIMS = 4 * LANES;

export interface PhasedAttention {
  /** Whether the rows are decode rows, each with a tile of its own. */
  isDecode: boolean;
  /** Tiles of the dispatches for rows of prompts. */
  strips: readonly TileStrip[];
  /** Multiply-adds of a tile. */
  tileWork: (sizes: Sizes) => number;
  shape: HeadShape;
  window: number | null;
  /** Parameters of the kinds of pages and of scores; `sinks` alone concerns merging. */
  variants: { pages: { KV: KvFormat }; scores: Params; sinks: Params };
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
  const { shader, params, queries } =
    promptMatrixKernel(tape, shape, variants.pages.KV) ?? promptKernel(tape, attention);
  for (const { first, count } of strips) {
    tape.dispatch(shader, {
      params: { ...params, ...variants.scores, ...variants.sinks },
      args: { ...args, first_tile: first },
      bind,
      groups: (sizes) => [count(sizes), kvHeads, Math.ceil(((sizes['tileRows'] ?? 0) * share) / queries)],
    });
  }
}

function promptKernel(tape: Tape, { shape, variants }: PhasedAttention): PromptKernel {
  const { heads, kvHeads, dims } = shape;
  const each = queriesOfTeam(tape, heads / kvHeads, dims);
  const params = { DIMS: dims, EACH: each, ...variants.pages };
  return { shader: 'attention-prompt.wgsl', params, queries: (LANES / 8) * each };
}

/** Queries of eight lanes, so that a lane's sums fit its registers and the workgroups of a tile are filled alike. */
function queriesOfTeam({ device }: Tape, share: number, dims: number): number {
  const { promptSums } = device.profile;
  const walkers = Math.floor((4 * LANES) / dims);
  const most = Math.min(4, Math.max(1, Math.floor((promptSums * walkers * 8) / LANES)));
  const all = Math.ceil((TILE_ROWS * share * 8) / LANES);
  return Math.ceil(all / Math.ceil(all / most));
}

function attendDecoded(
  tape: Tape,
  { shape, window, variants, args, bind, merged }: PhasedAttention,
  { first, rows }: { first: number; rows: number },
): void {
  const { heads, kvHeads, dims } = shape;
  const share = heads / kvHeads;
  const { decodeQueries } = tape.device.profile;
  const queries = [1, 2, 4].find((count) => count >= Math.min(share, decodeQueries)) ?? 8;
  const chunksAt = (sizes: Sizes): number => chunksOf(sizes['contextPages'] ?? 1, window);
  const parts = tape.tensor([chunksAt(tape.capacity) * rows * heads, 4 + dims]);
  const rowsAt = ({ tiles = 0 }: Sizes): number => Math.max(0, Math.min(rows, tiles - first));
  const params = { DIMS: dims, ...variants.sinks };
  const stripArgs = { ...args, rows, first_tile: first };
  tape.dispatch('attention-decode.wgsl', {
    params: { ...params, ...variants.pages, ...variants.scores, QUERIES: queries },
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
