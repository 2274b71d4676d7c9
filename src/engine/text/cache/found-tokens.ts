// How much of a prompt the prefix cache had, and where.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { Sequence } from '../run/sequence.ts';
import type { CachedTokens } from '../calls/text-model.ts';
import type { CachedPage, PageNode } from './cached-page.ts';

/**
 * Counts the prompt tokens of a path by the tier in which they were found; at most `promptTokens` are counted. `seen`: the pages of the
 * path that the sequence sees.
 */
export function foundTokens(
  { progress, placement }: Sequence,
  path: readonly PageNode[],
  seen: readonly CachedPage[],
): CachedTokens {
  const [first, end] = placement.prefix.fetched;
  const found = { device: 0, host: 0, storage: 0 };
  const elsewhere = new Set(seen.filter(({ page }) => page === null).map(({ node }) => node));
  path.forEach((node, at) => {
    const tier = at >= first && at < end ? 'storage' : elsewhere.has(node) ? 'host' : 'device';
    found[tier] += Math.max(0, Math.min(PAGE_TOKENS, progress.promptTokens - at * PAGE_TOKENS));
  });
  return found;
}
