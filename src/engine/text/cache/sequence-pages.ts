// The pages of each sequence: first those it shares through the prefix cache, then its own. What it computes becomes shared
// page by page as soon as the step that computes it is submitted: the device works in the order of submission.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import { createPagePool, type PagePool } from './pages.ts';
import { createPrefixTree, pageKey, type PageNode, type PrefixTree } from './prefix-tree.ts';
import type { Sequence } from '../sequence.ts';

/** What the device does before the next step. */
export interface PageMoves {
  copies: { from: number; to: number }[];
  loads: { page: number; bytes: Uint8Array }[];
}

export interface SequencePages {
  readonly pool: PagePool;
  /** Pages that could be had. */
  readonly available: number;
  /** Pages dropped from the device, and written back to it. */
  readonly evicted: number;
  readonly loaded: number;
  readonly tree: PrefixTree;
  /** The nodes of its prefix; the last known token is not among them. */
  match(sequence: Sequence): PageNode[];
  /** Takes the matched pages, to be loaded where they are not on the device. false: fewer than `spare` would be left. */
  claim(sequence: Sequence, path: readonly PageNode[], spare: number): boolean;
  /**
   * Places the last node of a path, bytes to be written there at once. false: there are no pages but those that are held or
   * belong to that path.
   */
  bring(path: readonly PageNode[]): boolean;
  /** One more page; false: there is none. */
  grow(sequence: Sequence): boolean;
  /** Shares what is full. */
  publish(sequence: Sequence): void;
  release(sequence: Sequence): void;
  /** Releases, and forgets what it shared. Pages that are free by that. */
  discard(sequence: Sequence): number[];
  /** Bytes for pages that are to be loaded, in order, up to `most` pages. */
  takeLoads(sequence: Sequence, most: number): PageMoves['loads'];
  /** After the device was lost, with all that was on it. */
  reset(): void;
}

/** Keys of the first `count` pages, which must be full. Choices share those of their prompt. */
export function keysOf(
  { progress: { ids, promptTokens }, placement: { prefix }, leader }: Sequence,
  count: number,
): readonly string[] {
  for (let page = prefix.keys.length; page < count; page++) {
    const ofPrompt = (page + 1) * PAGE_TOKENS <= promptTokens;
    const known = ofPrompt ? leader?.placement.prefix.keys[page] : undefined;
    prefix.keys.push(known ?? pageKey(ids, page * PAGE_TOKENS, PAGE_TOKENS));
  }
  return prefix.keys;
}

/** Pages that a sequence may find: the last known token is computed in any case. */
export function findablePages({ progress, placement: { prefix } }: Sequence): number {
  return Math.floor(Math.min(progress.ids.length - 1, prefix.shareable, prefix.findable) / PAGE_TOKENS);
}

export function createSequencePages(total: number): SequencePages {
  let pool = createPagePool(total);
  let evicted = 0;
  let loaded = 0;
  const tree = createPrefixTree((page) => pool.give([page]));
  /** Freed at a time. */
  const share = Math.max(1, total >> 6);

  const take = (): number | undefined => {
    if (pool.free === 0) evicted += tree.evict(share);
    return pool.take();
  };

  const letGo = ({ placement }: Sequence): void => {
    const { nodes, loads } = placement.prefix;
    for (const { node } of loads) {
      pool.give([node.page!]);
      node.loading = false;
      tree.place(node, null);
    }
    nodes.toReversed().forEach(tree.letGo);
    pool.give(placement.pages.slice(nodes.length));
    placement.forgetPages();
  };

  return {
    get pool() {
      return pool;
    },
    get available() {
      return pool.free + tree.evictable;
    },
    get evicted() {
      return evicted;
    },
    get loaded() {
      return loaded;
    },
    tree,
    match(sequence) {
      const most = findablePages(sequence);
      return tree.find(sequence.placement.prefix.scope, keysOf(sequence, most), most);
    },
    claim({ placement }, path, spare) {
      path.forEach(tree.hold);
      const missing = path.filter(({ page }) => page === null);
      if (pool.free + tree.evictable - missing.length < spare) {
        path.toReversed().forEach(tree.letGo);
        return false;
      }
      for (const node of missing) {
        tree.place(node, take()!);
        node.loading = true;
        placement.prefix.loads.push({ node, bytes: node.host! });
      }
      placement.prefix.nodes = [...path];
      placement.pages = path.map(({ page }) => page!);
      const last = path.at(-1);
      if (last) tree.touch(last);
      return true;
    },
    bring(path) {
      if (pool.free === 0) {
        const own = path.filter(({ page, users }) => page !== null && users === 0).length;
        if (tree.evictable - own < share) return false;
      }
      tree.place(path.at(-1)!, take()!);
      return true;
    },
    grow({ placement }) {
      const page = take();
      if (page !== undefined) placement.pages.push(page);
      return page !== undefined;
    },
    publish(sequence) {
      const { prefix, pages } = sequence.placement;
      const { nodes } = prefix;
      const before = nodes.length;
      const { computed, ids } = sequence.progress;
      const known = Math.min(computed, ids.length, prefix.shareable);
      for (let at = before; (at + 1) * PAGE_TOKENS <= known; at++) {
        const node = tree.child(prefix.scope, nodes.at(-1) ?? null, keysOf(sequence, at + 1)[at]!);
        if (node.loading) break;
        tree.hold(node);
        if (node.page === null) tree.place(node, pages[at]!);
        else if (node.page !== pages[at]) {
          // Somebody computed the same meanwhile.
          pool.give([pages[at]!]);
          pages[at] = node.page;
        }
        nodes.push(node);
      }
      if (nodes.length > before) tree.touch(nodes.at(-1)!);
    },
    release(sequence) {
      this.publish(sequence);
      letGo(sequence);
    },
    discard(sequence) {
      const { prefix, pages } = sequence.placement;
      const held = pages.slice(prefix.nodes.length);
      const shared = prefix.nodes.filter(({ users }) => users === 1).map(({ page }) => page!);
      tree.forget(prefix.nodes.slice(0, 1));
      letGo(sequence);
      return [...shared, ...held];
    },
    takeLoads({ placement }, most) {
      return placement.prefix.loads.splice(0, most).map(({ node, bytes }) => {
        node.loading = false;
        loaded++;
        return { page: node.page!, bytes };
      });
    },
    reset() {
      tree.lose();
      pool = createPagePool(total);
    },
  };
}
