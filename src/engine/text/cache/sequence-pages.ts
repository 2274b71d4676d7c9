// The pages of each sequence: first those it shares through the prefix cache, then its own. What it computes becomes shared
// page by page as soon as the step that computes it is submitted: the device works in the order of submission.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import { createPagePool, type PagePool } from './pages.ts';
import { createPrefixTree, pageKey, type PageNode, type PrefixTree } from './prefix-tree.ts';
import type { Sequence } from '../sequence.ts';
import type { CachedTokens } from '../text-model.ts';

/** What a sequence is to the cache. */
export interface SequencePrefix {
  /** Pages are shared only within one: by adapter, salt and rotary frequencies. */
  scope: string;
  /** Positions from here on are nobody else's: their frequencies differ from the prompt's. */
  shareable: number;
  /** Positions from here on are computed, whoever has them. */
  findable: number;
  /** Keys of its full pages, as far as somebody asked. */
  keys: string[];
  /** Nodes of its shared pages. */
  nodes: PageNode[];
  /** Of them, those whose bytes are still to be written to their pages. */
  loads: { node: PageNode; bytes: Uint8Array }[];
  /** Prompt tokens found when it first ran. */
  found: CachedTokens | null;
  /** Pages of the prompt that were fetched from storage for it: first, and one past the last. */
  fetched: [first: number, end: number];
  /** Prompt tokens that are computed or found, whatever has been retracted since. */
  processed: number;
}

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

export function createPrefix(scope: string, shareable: number, findable = Infinity): SequencePrefix {
  const nothing = { keys: [], nodes: [], loads: [], found: null, processed: 0 };
  return { scope, shareable, findable, ...nothing, fetched: [0, 0] };
}

/** Keys of the first `count` pages, which must be full. Choices share those of their prompt. */
export function keysOf({ ids, prefix, leader, promptTokens }: Sequence, count: number): readonly string[] {
  for (let page = prefix.keys.length; page < count; page++) {
    const ofPrompt = (page + 1) * PAGE_TOKENS <= promptTokens;
    const known = ofPrompt ? leader?.prefix.keys[page] : undefined;
    prefix.keys.push(known ?? pageKey(ids, page * PAGE_TOKENS, PAGE_TOKENS));
  }
  return prefix.keys;
}

/** Pages that a sequence may find: the last known token is computed in any case. */
export function findablePages({ ids, prefix }: Sequence): number {
  return Math.floor(Math.min(ids.length - 1, prefix.shareable, prefix.findable) / PAGE_TOKENS);
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

  const letGo = (sequence: Sequence): void => {
    const { nodes } = sequence.prefix;
    for (const { node } of sequence.prefix.loads) {
      pool.give([node.page!]);
      node.loading = false;
      tree.place(node, null);
    }
    nodes.toReversed().forEach(tree.letGo);
    pool.give(sequence.pages.slice(nodes.length));
    sequence.prefix.nodes = [];
    sequence.prefix.loads = [];
    sequence.pages = [];
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
      return tree.find(sequence.prefix.scope, keysOf(sequence, most), most);
    },
    claim(sequence, path, spare) {
      path.forEach(tree.hold);
      const missing = path.filter(({ page }) => page === null);
      if (pool.free + tree.evictable - missing.length < spare) {
        path.toReversed().forEach(tree.letGo);
        return false;
      }
      for (const node of missing) {
        tree.place(node, take()!);
        node.loading = true;
        sequence.prefix.loads.push({ node, bytes: node.host! });
      }
      sequence.prefix.nodes = [...path];
      sequence.pages = path.map(({ page }) => page!);
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
    grow(sequence) {
      const page = take();
      if (page !== undefined) sequence.pages.push(page);
      return page !== undefined;
    },
    publish(sequence) {
      const { prefix, pages } = sequence;
      const { nodes } = prefix;
      const before = nodes.length;
      const known = Math.min(sequence.computed, sequence.ids.length, prefix.shareable);
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
      const { prefix, pages } = sequence;
      const held = pages.slice(prefix.nodes.length);
      const shared = prefix.nodes.filter(({ users }) => users === 1).map(({ page }) => page!);
      tree.forget(prefix.nodes.slice(0, 1));
      letGo(sequence);
      return [...shared, ...held];
    },
    takeLoads({ prefix }, most) {
      return prefix.loads.splice(0, most).map(({ node, bytes }) => {
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
