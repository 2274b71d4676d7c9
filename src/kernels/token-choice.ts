// Chooses the tokens that each row attends to, by scores of its own: heads of queries with a weight each meet one key a token, and the best tokens
// are kept as bits, a word for each page (the lightning indexer of DeepSeek-V3.2).

import { tapeOf } from '../gpu/tape.ts';
import type { Tensor } from '../gpu/tensor.ts';
import { PAGE_TOKENS, TILE_ROWS, type KvPages, type TextBatch } from './batch.ts';
import { mostWork } from './dispatch-work.ts';
import { isCoded } from './kv-format.ts';

/** Pages of a workgroup of token-choice-scores.wgsl. */
const PAGES = 8;
/** Bytes of the scores that are kept until their tokens are chosen. */
const MOST_BYTES = 128 * 2 ** 20;

export interface TokenChoice {
  heads: number;
  /** Dimensions of a head and of a key, a multiple of 4. */
  dims: number;
  /** Tokens that a row attends to. */
  most: number;
}

/**
 * q [rows, heads · dims], weights [rows, heads], both with the scores' factors → u32 [rows, pages of the longest context]; null: no context of this
 * tape has more tokens than are chosen.
 */
export function chooseTokens(
  q: Tensor,
  weights: Tensor,
  batch: Pick<TextBatch, 'tiles'>,
  { table, keys, values, format }: KvPages,
  { heads, dims, most }: TokenChoice,
): Tensor | null {
  const tape = tapeOf(q);
  const { rows = 0, tiles: all = 0, contextPages = 1 } = tape.capacity;
  if (q.columns !== heads * dims || weights.columns !== heads || dims % 4 !== 0 || most < 1)
    throw new Error(
      `chooseTokens: ${heads} heads of ${dims} in ${q.columns} columns, ${weights.columns} weights`,
    );
  if (values !== null || isCoded(format))
    throw new Error(`chooseTokens: pages of keys in ${format} with values`);
  if (contextPages * PAGE_TOKENS <= most) return null;
  const chosen = tape.tensor([...q.shape.slice(0, -1), contextPages], 'u32');
  const tileBytes = TILE_ROWS * contextPages * PAGE_TOKENS * 4;
  const bytes = Math.min(MOST_BYTES, tape.device.capabilities.bindingLimit);
  const work = TILE_ROWS * heads * dims * contextPages * PAGE_TOKENS;
  const each = Math.max(1, Math.floor(Math.min(bytes / tileBytes, mostWork(tape) / work)));
  const { tiles } = batch;
  for (let first = 0; first < all; first += each) {
    const scores = tape.tensor([Math.min(rows, each * TILE_ROWS), contextPages * PAGE_TOKENS]);
    const count = (sizes: { tiles?: number }): number =>
      Math.max(0, Math.min(each, (sizes.tiles ?? 0) - first));
    tape.dispatch('token-choice-scores.wgsl', {
      params: { KV: format },
      args: {
        ...{ heads, dims, most, first_tile: first },
        ...{ q_quads: q.stride / 4, weight_stride: weights.stride, score_quads: scores.stride / 4 },
      },
      bind: { q, head_weights: weights, tiles, scores, pages: table.pages, keys },
      groups: (sizes) => [
        count(sizes),
        Math.ceil((sizes['contextPages'] ?? 1) / PAGES),
        sizes['tileRows'] ?? 0,
      ],
    });
    tape.dispatch('token-choice-pick.wgsl', {
      args: { most, first_tile: first, score_stride: scores.stride, chosen_words: chosen.stride },
      bind: { scores, tiles, chosen },
      groups: (sizes) => [count(sizes), sizes['tileRows'] ?? 0],
    });
  }
  return chosen;
}
