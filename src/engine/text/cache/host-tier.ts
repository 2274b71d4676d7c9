// Pages of the prefix cache in host memory: which nodes have a copy there, and how many bytes the copies take.

import { leastRecent, type PageNode, type PrefixTree } from './prefix-tree.ts';

/** Share of the bytes that stays when there are too many. */
const KEPT = 0.97;

export class HostTier {
  readonly total: number;
  readonly #tree: PrefixTree;
  readonly #nodes = new Set<PageNode>();
  #used = 0;

  /** `total`: most bytes. */
  constructor(tree: PrefixTree, total: number) {
    this.#tree = tree;
    this.total = total;
  }

  get used(): number {
    return this.#used;
  }

  /** Counts a change of a node's bytes in host memory. */
  count(node: PageNode, change: number): void {
    this.#used += change;
    if (node.host) this.#nodes.add(node);
    else this.#nodes.delete(node);
  }

  /** Evicts the least recently used copies if there are too many bytes. */
  trim(): void {
    if (this.#used <= this.total) return;
    for (const node of leastRecent([...this.#nodes])) {
      if (this.#used <= KEPT * this.total) return;
      if (!node.loading) this.#tree.keep(node, null);
    }
  }
}
