// The pages of each sequence: first those that it shares through the prefix cache, then its own. A page that a sequence computes is
// shared as soon as the step that computes it is submitted, because the device works in the order of submission.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { Sequence } from '../sequence.ts';
import { firstVisiblePage } from './page-window.ts';
import { PagePool } from './pages.ts';
import type { Placement } from './placement.ts';
import { pageKey, PrefixTree, type PageNode } from './prefix-tree.ts';

/** Copies and writes of pages that the device does before the next step. */
export interface PageMoves {
  copies: { from: number; to: number }[];
  loads: { page: number; bytes: Uint8Array }[];
}

/** Keys of the first `count` pages, which must be full. The choices of a request share the keys of their prompt. */
export function keysOf(
  { progress: { ids, promptTokens }, placement: { prefix }, leader }: Sequence,
  count: number,
): readonly string[] {
  for (let page = prefix.keys.length; page < count; page++) {
    const isPrompt = (page + 1) * PAGE_TOKENS <= promptTokens;
    const known = isPrompt ? leader?.placement.prefix.keys[page] : undefined;
    prefix.keys.push(known ?? pageKey(ids, page * PAGE_TOKENS, PAGE_TOKENS));
  }
  return prefix.keys;
}

/** Pages that a sequence may take from the cache: its last known token is computed in any case. */
export function findablePages({ progress, placement: { prefix } }: Sequence): number {
  return Math.floor(Math.min(progress.ids.length - 1, prefix.shareable, prefix.findable) / PAGE_TOKENS);
}

export class SequencePages {
  readonly tree: PrefixTree;
  readonly #total: number;
  readonly #window: number | null;
  /** Pages evicted at a time. */
  readonly #share: number;
  #pool: PagePool;
  #evicted = 0;
  #loaded = 0;

  /** `window`: tokens that queries look back on; null: all. */
  constructor(total: number, window: number | null = null) {
    this.#total = total;
    this.#window = window;
    this.#share = Math.max(1, total >> 6);
    this.#pool = new PagePool(total);
    this.tree = new PrefixTree((page) => this.#pool.give([page]));
  }

  get pool(): PagePool {
    return this.#pool;
  }

  /** Pages that are free or can be evicted. */
  get available(): number {
    return this.#pool.free + this.tree.evictable;
  }

  /** Pages evicted from the device so far. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Pages written back to the device so far. */
  get loaded(): number {
    return this.#loaded;
  }

  /** Nodes of the sequence's prefix in the cache, without the page of its last known token. */
  match(sequence: Sequence): PageNode[] {
    const most = findablePages(sequence);
    return this.tree.find(sequence.placement.prefix.scope, keysOf(sequence, most), most);
  }

  /** Takes the matched pages, and pages to load those that are not on the device; false: fewer than `spare` would be left. */
  claim({ placement }: Sequence, path: readonly PageNode[], spare: number): boolean {
    const passed = this.firstVisible(path.length * PAGE_TOKENS);
    const seen = path.slice(passed);
    for (const node of seen) this.tree.hold(node);
    // Kept here: taking a page may evict one before the window, and with it the host's copies of all that follow it.
    const loads = seen.flatMap((node) => (node.page === null ? [{ node, bytes: node.host! }] : []));
    if (this.available - loads.length < spare) {
      for (const node of seen.toReversed()) this.tree.release(node);
      return false;
    }
    for (const load of loads) {
      this.tree.place(load.node, this.#take()!);
      load.node.loading = true;
      placement.prefix.loads.push(load);
    }
    placement.prefix.nodes = [...path];
    // Pages that no query sees need no bytes; their entries in the table are not read.
    placement.pages = path.map(({ page }) => page ?? 0);
    placement.passedPages = passed;
    const last = path.at(-1);
    if (last) this.tree.touch(last);
    return true;
  }

  /**
   * Gives the last node of a path a page, to which the caller writes its bytes at once; false: every page is in use or belongs to
   * the path.
   */
  bring(path: readonly PageNode[]): boolean {
    if (this.#pool.free === 0) {
      const own = path.filter(({ page, users }) => page !== null && users === 0).length;
      if (this.tree.evictable - own < this.#share) return false;
    }
    const page = this.#take()!;
    this.#pool.overwritten(page);
    this.tree.place(path.at(-1)!, page);
    return true;
  }

  /** Adds one page to the sequence; false: none is left. */
  grow({ placement }: Sequence): boolean {
    const page = this.#take();
    if (page !== undefined) placement.pages.push(page);
    return page !== undefined;
  }

  /** Shares the pages that the submitted steps have filled. */
  publish(sequence: Sequence): void {
    const { prefix, pages } = sequence.placement;
    const { computed, ids } = sequence.progress;
    const { nodes } = prefix;
    const before = nodes.length;
    // Pages that were given back before they were shared end what can be shared.
    if (before < sequence.placement.passedPages) return;
    const known = Math.min(computed, ids.length, prefix.shareable);
    for (let at = before; (at + 1) * PAGE_TOKENS <= known; at++) {
      const node = this.tree.child(prefix.scope, nodes.at(-1) ?? null, keysOf(sequence, at + 1)[at]!);
      if (node.loading) break;
      this.tree.hold(node);
      if (node.page === null) this.tree.place(node, pages[at]!);
      else if (node.page !== pages[at]) {
        // Another sequence has computed the same page meanwhile.
        this.#pool.give([pages[at]!]);
        pages[at] = node.page;
      }
      nodes.push(node);
    }
    if (nodes.length > before) this.tree.touch(nodes.at(-1)!);
  }

  /** The first page that a query at a token or later sees. */
  firstVisible(token: number): number {
    return this.#window === null ? 0 : firstVisiblePage(token, this.#window);
  }

  /** Gives back the pages that no query from the next row on sees. Those that are shared stay in the cache while there is room. */
  passWindow({ placement, progress }: Sequence): void {
    const { prefix, pages } = placement;
    const end = Math.min(this.firstVisible(progress.computed), pages.length);
    if (placement.isLoading) return;
    for (let at = placement.passedPages; at < end; at++) {
      const node = prefix.nodes[at];
      if (node) this.tree.release(node);
      else this.#pool.give([pages[at]!]);
    }
    placement.passedPages = Math.max(placement.passedPages, end);
  }

  release(sequence: Sequence): void {
    this.publish(sequence);
    this.#giveBack(sequence.placement);
  }

  /** Releases the sequence and removes what it shared from the cache; the pages that are free by that. */
  discard({ placement }: Sequence): number[] {
    const { prefix, pages } = placement;
    const own = pages.slice(Math.max(prefix.nodes.length, placement.passedPages));
    const held = prefix.nodes.slice(placement.passedPages);
    const shared = held.filter(({ users }) => users === 1).map(({ page }) => page!);
    this.tree.forget(prefix.nodes.slice(0, 1));
    this.#giveBack(placement);
    return [...shared, ...own];
  }

  /** Takes the sequence's next loads, in order, up to `most` pages. */
  takeLoads({ placement }: Sequence, most: number): PageMoves['loads'] {
    return placement.prefix.loads.splice(0, most).map(({ node, bytes }) => {
      node.loading = false;
      this.#loaded++;
      return { page: node.page!, bytes };
    });
  }

  /** Starts afresh after the device was lost with all that was on it. */
  reset(): void {
    this.tree.lose();
    this.#pool = new PagePool(this.#total);
  }

  #take(): number | undefined {
    if (this.#pool.free === 0) this.#evicted += this.tree.evict(this.#share);
    return this.#pool.take();
  }

  #giveBack(placement: Placement): void {
    const { nodes, loads } = placement.prefix;
    for (const { node } of loads) {
      this.#pool.give([node.page!]);
      node.loading = false;
      this.tree.place(node, null);
    }
    const { passedPages } = placement;
    for (const node of nodes.slice(passedPages).toReversed()) this.tree.release(node);
    this.#pool.give(placement.pages.slice(Math.max(nodes.length, passedPages)));
    placement.forgetPages();
  }
}
