// Which pages of a store stay. A page is found through all those before it alone: so the ends of chains go before what they hang
// on, and whatever hangs on nothing goes at once.

export interface ChainedPage {
  /** The page before it; null: it is the first. */
  readonly before: string | null;
  readonly bytes: number;
}

/**
 * The latest used pages with all those before them, up to `most` bytes. `pages` come in the order of their use; what `coming`
 * has is about to be among them.
 */
export function keptPages(
  pages: ReadonlyMap<string, ChainedPage>,
  most: number,
  coming: { has(key: string): boolean },
): Set<string> {
  const kept = new Set<string>();
  /** Where a way to a first page was looked for in vain: also what stops at names that go in a circle. */
  const lost = new Set<string>();
  let bytes = 0;
  for (const last of [...pages.keys()].reverse()) {
    const path: string[] = [];
    let at: string | null = last;
    while (at !== null && pages.has(at) && !kept.has(at) && !lost.has(at)) {
      path.push(at);
      lost.add(at);
      at = pages.get(at)!.before;
    }
    if (at !== null && !kept.has(at) && !coming.has(at)) continue;
    for (const key of path.reverse()) {
      bytes += pages.get(key)!.bytes;
      if (bytes > most) return kept;
      lost.delete(key);
      kept.add(key);
    }
  }
  return kept;
}
