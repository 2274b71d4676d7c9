// Tokens after the last cached page of a prefix that begin another cached page, whose later tokens differ: they are copied with that page.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import { pageKey, type CachedPage } from './cached-page.ts';
import type { PlacedSequence } from './placement.ts';
import type { PrefixTree } from './prefix-tree.ts';

/** Least tokens for which a page is copied. */
const LEAST = PAGE_TOKENS / 4;

/** The pages on the device, one of each group of layers, that begin with most of a sequence's next tokens, and the number of these; null: none do. */
export function beginningOf(
  tree: PrefixTree,
  { progress: { ids, computed }, placement: { prefix }, request: { media } }: PlacedSequence,
): { pages: readonly CachedPage[]; tokens: number } | null {
  const end = Math.min(computed + PAGE_TOKENS, ids.length - 1, prefix.shareable, prefix.findable);
  const count = end - computed;
  if (count < LEAST || (media?.keyOf(computed, count) ?? '') !== '') return null;
  const found = tree.closest(prefix.scope, prefix.nodes.at(-1) ?? null, pageKey(ids, computed, count));
  return found !== null && found.tokens >= LEAST ? { pages: found.node.pages, tokens: found.tokens } : null;
}
