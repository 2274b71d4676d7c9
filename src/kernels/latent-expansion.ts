// Which rows of prompts see keys and values that are expanded from latents, and how much memory that takes. Per layer and head, with the rank r of latents, keys
// of p + t dimensions (t rotated) and values of v:
//
// - absorbed: a row takes r · (p + v) multiply-adds for its query and its result, and (2 · r + t) for each token that it sees;
// - expanded: a token that is seen takes r · (p + v) in each step, however many rows see it, and (p + t + v) for each of them.
//
// A chunk of n rows behind c cached tokens sees c + n tokens, its rows c + n / 2 on average. Rows and their own tokens cost alike in both forms, so that the
// expanded form is the cheaper one where
//
//   c · r · (p + v) < n · (c + n / 2) · (2 · r − p − v).
//
// With r = 512, p = v = 128 chunks of 171 rows always pay, and smaller ones behind few tokens.

import type { Device } from '../gpu/device.ts';
import { paddedColumns, type Sizes } from '../gpu/tensor.ts';
import { PAGE_TOKENS, TILE_ROWS } from './batch.ts';
import { expandedWords } from './expanded-kv.ts';
import type { LatentShape } from './latent-kv.ts';
import { GROUP, groupsOf } from './matrix-windows.ts';
import type { PageRange } from './latent-rows.ts';

/** Bytes of the latents, keys and values of a segment. */
const SEGMENT_BYTES = 2 ** 28;
/** Most segments, each of which has dispatches of its own in each layer. */
const MOST_SEGMENTS = 32;

/** Pages of a step whose keys and values are expanded; 0: rows see latents. */
export const expandedPages = (sizes: Sizes): number => sizes['expandedPages'] ?? 0;

/** What a tape is recorded for: the most expanded pages of its steps, and pages of a segment. */
export interface ExpandedCapacity {
  expandedPages: number;
  segmentPages: number;
}

/** A chunk of a prompt. */
export interface PromptChunk {
  cached: number;
  rows: number;
}

/** Whether a chunk is computed in fewer multiply-adds where keys and values are expanded, and has rows enough for the tapes that do so. */
export function paysExpanding(
  { rank, plain, values }: Pick<LatentShape, 'rank' | 'plain' | 'values'>,
  { cached, rows }: PromptChunk,
): boolean {
  const ofToken = rank * (plain + values);
  const saved = 2 * rank - plain - values;
  return rows > TILE_ROWS && cached * ofToken < rows * (cached + rows / 2) * saved;
}

/** The token of a prompt up to which its rows see expanded keys and values, in chunks of `most` rows behind what is cached, and of at most `tokens` tokens. */
export function expandedEnd(
  shape: Pick<LatentShape, 'rank' | 'plain' | 'values'>,
  { cached, length }: { cached: number; length: number },
  { most, tokens }: { most: number; tokens: number },
): number {
  let end = cached;
  const last = Math.min(length, tokens);
  while (end < last) {
    const rows = Math.min(most, last - end);
    if (!paysExpanding(shape, { cached: end, rows })) break;
    end += rows;
  }
  return end > cached ? end : 0;
}

/** Of tapes for contexts of at most `contextPages`: so many pages a segment that their latents, keys and values are within a budget, and each of these tensors within a binding. */
export function expandedCapacity(
  { capabilities }: Device,
  shape: LatentShape,
  contextPages: number,
): ExpandedCapacity {
  const { heads, plain, rotated, values, rank } = shape;
  const [keyWords, valueWords] = expandedWords(shape, 'f32');
  const products = heads * GROUP * groupsOf(plain + values);
  const words = [products, keyWords!, valueWords!, paddedColumns(rank), paddedColumns(rotated)];
  const bytes = (columns: number): number => PAGE_TOKENS * 4 * paddedColumns(columns);
  const budgeted = SEGMENT_BYTES / words.reduce((sum, columns) => sum + bytes(columns), 0);
  const bound = capabilities.bindingLimit / bytes(Math.max(...words));
  const segmentPages = Math.floor(Math.min(contextPages, budgeted, bound, capabilities.maxWorkgroups));
  return { segmentPages, expandedPages: Math.min(contextPages, MOST_SEGMENTS * segmentPages) };
}

/** The segments of a tape. */
export function segmentsOf({ expandedPages: most, segmentPages: each }: ExpandedCapacity): PageRange[] {
  return Array.from({ length: Math.ceil(most / each) }, (_, i) => ({
    first: i * each,
    count: (sizes) => Math.max(0, Math.min(each, expandedPages(sizes) - i * each)),
  }));
}
