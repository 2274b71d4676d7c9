// Pages of the prefix cache in host memory: which have a copy there, and how many bytes the copies take.

import { leastRecent, type CachedPage } from './cached-page.ts';
import type { PrefixTree } from './prefix-tree.ts';

/** Share of the bytes that stays when there are too many. */
const KEPT = 0.97;

export class HostTier {
  readonly total: number;
  readonly #tree: PrefixTree;
  readonly #copies = new Set<CachedPage>();
  #used = 0;

  /** `total`: most bytes. */
  constructor(tree: PrefixTree, total: number) {
    this.#tree = tree;
    this.total = total;
  }

  get used(): number {
    return this.#used;
  }

  /** Counts a change of a page's bytes in host memory. */
  count(cached: CachedPage, change: number): void {
    this.#used += change;
    if (cached.host) this.#copies.add(cached);
    else this.#copies.delete(cached);
  }

  /** Evicts the least recently used copies if there are too many bytes. */
  trim(): void {
    if (this.#used <= this.total) return;
    for (const cached of leastRecent([...this.#copies])) {
      if (this.#used <= KEPT * this.total) return;
      if (!cached.loading) this.#tree.keep(cached, null);
    }
  }
}
