// Selects the pages that stay when a store is full. A page is found only through all pages before it, so the ends of chains are
// removed before their beginnings, and a page whose chain has no beginning is removed at once.

export interface ChainedPage {
  /** Name of the page before it; null: it is the first of its chain. */
  readonly before: string | null;
  readonly bytes: number;
}

/**
 * Names of the most recently used pages, with all pages before them, up to `most` bytes. `pages`: least recently used first;
 * `coming`: names of pages that are being written.
 */
export function keptPages(
  pages: ReadonlyMap<string, ChainedPage>,
  most: number,
  coming: { has(key: string): boolean },
): Set<string> {
  const kept = new Set<string>();
  /** Pages from which no first page was reached; also ends the walk at names that form a circle. */
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
