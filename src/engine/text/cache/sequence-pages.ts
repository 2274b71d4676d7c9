// The pages of each sequence, by group of layers: first those that it shares through the prefix cache, then its own. All groups take
// their pages from one pool. A page that a sequence computes is shared as soon as the step that computes it is submitted, because the
// device works in the order of submission.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { CachedTokens } from '../calls/text-model.ts';
import { pageKey, type CachedPage, type PageNode } from './cached-page.ts';
import { firstVisiblePage, PagePool } from '../kv/pages.ts';
import { beginningOf } from './page-beginning.ts';
import type { PlacedSequence, Placement } from './placement.ts';
import { PrefixTree } from './prefix-tree.ts';
import type { PageMoves } from '../kv/page-mover.ts';
import { StateCopies } from './state-copies.ts';

/** Keys of the first `count` pages, which must be full. The choices of a request share the keys of their prompt. */
export function keysOf(
  { progress: { ids, promptTokens }, placement: { prefix }, request: { media }, leader }: PlacedSequence,
  count: number,
): readonly string[] {
  for (let page = prefix.keys.length; page < count; page++) {
    const isPrompt = (page + 1) * PAGE_TOKENS <= promptTokens;
    const known = isPrompt ? leader?.placement.prefix.keys[page] : undefined;
    const first = page * PAGE_TOKENS;
    prefix.keys.push(known ?? pageKey(ids, first, PAGE_TOKENS) + (media?.keyOf(first, PAGE_TOKENS) ?? ''));
  }
  return prefix.keys;
}

/** Pages that a sequence may take from the cache: its last known token is computed in any case. */
export function findablePages({ progress, placement: { prefix } }: PlacedSequence): number {
  return Math.floor(Math.min(progress.ids.length - 1, prefix.shareable, prefix.findable) / PAGE_TOKENS);
}

export class SequencePages {
  /** Tokens that each group of layers looks back on; null: all. */
  readonly windows: readonly (number | null)[];
  /** Whether sequences give pages back while they run. */
  readonly isWindowed: boolean;
  readonly tree: PrefixTree;
  /** Copies of fixed states; null: no layer has one. */
  readonly states: StateCopies | null;
  readonly #total: number;
  /** Pages evicted at a time. */
  readonly #share: number;
  #pool: PagePool;
  /** Pages that tokens are copied from before the next step. */
  readonly #sources: CachedPage[] = [];
  #evicted = 0;
  #loaded = 0;

  /** `copies`: copies of fixed states that the device has room for; 0: no layer has one. */
  constructor(total: number, windows: readonly (number | null)[] = [null], copies = 0) {
    this.#total = total;
    this.windows = windows;
    this.isWindowed = windows.some((window) => window !== null);
    this.#share = Math.max(1, total >> 6);
    this.#pool = new PagePool(total);
    const freeState = copies > 0 ? (place: number): void => this.states!.give(place) : null;
    this.tree = new PrefixTree((page) => this.#pool.give([page]), windows, freeState);
    this.states = copies > 0 ? new StateCopies(this.tree, copies) : null;
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
  match(sequence: PlacedSequence): PageNode[] {
    const most = findablePages(sequence);
    return this.tree.find(sequence.placement.prefix.scope, keysOf(sequence, most), most);
  }

  /** Number of pages of the sequence's prefix in the cache, wherever copies of fixed states are. */
  known(sequence: PlacedSequence): number {
    const most = findablePages(sequence);
    return this.tree.walk(sequence.placement.prefix.scope, keysOf(sequence, most), most).length;
  }

  /** Cached pages that a sequence with this prefix sees, in order of position. */
  seenBy(path: readonly PageNode[]): CachedPage[] {
    const firsts = this.firstsVisible(path.length * PAGE_TOKENS);
    return path.flatMap(({ pages }, at) => pages.filter(({ group }) => at >= firsts[group]!));
  }

  /** Counts the prompt tokens of a path by the tier in which they were found, those that were fetched from storage for this sequence apart. */
  found({ progress, placement }: PlacedSequence, path: readonly PageNode[]): CachedTokens {
    const [first, end] = placement.prefix.fetched;
    const found = { device: 0, host: 0, storage: 0 };
    const elsewhere = new Set(this.seenBy(path).flatMap(({ page, node }) => (page === null ? [node] : [])));
    path.forEach((node, at) => {
      const tier = at >= first && at < end ? 'storage' : elsewhere.has(node) ? 'host' : 'device';
      found[tier] += Math.max(0, Math.min(PAGE_TOKENS, progress.promptTokens - at * PAGE_TOKENS));
    });
    return found;
  }

  /** Takes the matched pages, and pages to load those that are not on the device; false: fewer than `spare` would be left. */
  claim({ placement }: PlacedSequence, path: readonly PageNode[], spare: number): boolean {
    const seen = this.seenBy(path);
    for (const cached of seen) this.tree.hold(cached);
    const loads = seen.flatMap((cached) => (cached.page === null ? [{ cached, bytes: cached.host! }] : []));
    if (this.available - loads.length < spare) {
      for (const cached of seen.toReversed()) this.tree.release(cached);
      return false;
    }
    for (const load of loads) {
      this.tree.place(load.cached, this.#take()!);
      load.cached.loading = true;
      placement.prefix.loads.push(load);
    }
    placement.prefix.nodes = [...path];
    // Pages that no query sees need no bytes; their entries in the tables are not read.
    placement.tables = this.windows.map((_, group) => path.map(({ pages }) => pages[group]!.page ?? 0));
    placement.passedPages = this.firstsVisible(path.length * PAGE_TOKENS);
    const last = path.at(-1);
    if (last) this.tree.touch(last);
    return true;
  }

  /**
   * Gives pages of a path's last node that are not on the device their places there, to which the caller writes the bytes at once;
   * false: every page is in use or belongs to the path.
   */
  bring(path: readonly PageNode[], missing: readonly CachedPage[]): boolean {
    if (this.#pool.free < missing.length) {
      const own = path.flatMap(({ pages }) =>
        pages.filter(({ page, users }) => page !== null && users === 0),
      );
      if (this.available - own.length < Math.max(this.#share, missing.length)) return false;
    }
    // All are taken before one is placed, because taking a page may evict one that was just placed.
    const taken = missing.map(() => this.#take()!);
    for (const [at, cached] of missing.entries()) {
      this.#pool.overwritten(taken[at]!);
      this.tree.place(cached, taken[at]!);
    }
    return true;
  }

  /** Adds one page of each group to the sequence; false: too few are left. */
  grow({ placement: { tables } }: PlacedSequence): boolean {
    if (this.available < tables.length) return false;
    for (const pages of tables) pages.push(this.#take()!);
    return true;
  }

  /**
   * Adds a page of each group to a sequence whose next tokens begin a page that is cached, adds to `copies` what brings them there, and returns their
   * number; 0: there are none such, or too few pages are left. The cached page stays until `freeSources`.
   */
  growFrom(sequence: PlacedSequence, copies: PageMoves['copies']): number {
    const begun = this.states ? null : beginningOf(this.tree, sequence);
    if (begun === null) return 0;
    const { pages, tokens } = begun;
    for (const cached of pages) this.tree.hold(cached);
    this.#sources.push(...pages);
    if (!this.grow(sequence)) return 0;
    const { tables } = sequence.placement;
    for (const { page, group } of pages) copies.push({ from: page!, to: tables[group]!.at(-1)! });
    return tokens;
  }

  /** Lets pages go that tokens were copied from, once the copies are submitted. */
  freeSources(): void {
    for (const cached of this.#sources.splice(0)) this.tree.release(cached);
  }

  /** Shares the pages that the submitted steps have filled. */
  publish(sequence: PlacedSequence): void {
    const { prefix, tables, passedPages } = sequence.placement;
    const { computed, ids } = sequence.progress;
    const { nodes } = prefix;
    const before = nodes.length;
    const known = Math.min(computed, ids.length, prefix.shareable);
    if ((before + 1) * PAGE_TOKENS > known) return;
    // Pages that were given back before they were shared end what can be shared.
    if (passedPages.some((end) => before < end)) return;
    for (let at = before; (at + 1) * PAGE_TOKENS <= known; at++) {
      const node = this.tree.child(prefix.scope, nodes.at(-1) ?? null, keysOf(sequence, at + 1)[at]!);
      if (node.pages.some(({ loading }) => loading)) break;
      for (const cached of node.pages) this.tree.hold(cached);
      for (const cached of node.pages) this.#sharePage(cached, tables[cached.group]!, at);
      nodes.push(node);
    }
    if (nodes.length > before) this.tree.touch(nodes.at(-1)!);
  }

  /** The first page that a query of a group at a token or later sees. */
  firstVisible(group: number, token: number): number {
    const window = this.windows[group]!;
    return window === null ? 0 : firstVisiblePage(token, window);
  }

  /** The first pages, by group, that a query at a token or later sees. */
  firstsVisible(token: number): number[] {
    return this.windows.map((_, group) => this.firstVisible(group, token));
  }

  /** Gives back the pages that no query from the next row on sees. Those that are shared stay in the cache while there is room. */
  passWindow({ placement, progress }: PlacedSequence): void {
    const { prefix, tables, passedPages } = placement;
    if (!this.isWindowed || placement.isLoading) return;
    tables.forEach((pages, group) => {
      const end = Math.min(this.firstVisible(group, progress.computed), pages.length);
      for (let at = passedPages[group]!; at < end; at++) {
        const node = prefix.nodes[at];
        if (node) this.tree.release(node.pages[group]!);
        else this.#pool.give([pages[at]!]);
      }
      passedPages[group] = Math.max(passedPages[group]!, end);
    });
  }

  release(sequence: PlacedSequence): void {
    this.publish(sequence);
    this.states?.settle(sequence);
    this.#giveBack(sequence.placement);
  }

  /** Releases the sequence and removes what it shared from the cache; the pages that are free by that. */
  discard({ placement }: PlacedSequence): number[] {
    const { prefix } = placement;
    const shared = heldBy(placement).filter(({ users }) => users === 1);
    const freed = [...shared.map(({ page }) => page!), ...ownPages(placement)];
    this.tree.forget(prefix.nodes.slice(0, 1));
    this.#giveBack(placement);
    return freed;
  }

  /** Takes the sequence's next loads, in order, up to `most` pages. */
  takeLoads({ placement }: PlacedSequence, most: number): PageMoves['loads'] {
    return placement.prefix.loads.splice(0, most).map(({ cached, bytes }) => {
      cached.loading = false;
      this.#loaded++;
      return { page: cached.page!, bytes };
    });
  }

  /** Starts afresh after the device was lost with all that was on it. */
  reset(): void {
    this.#sources.length = 0;
    this.tree.lose();
    this.states?.reset();
    this.#pool = new PagePool(this.#total);
  }

  /** Makes a computed page the cached one, or takes the cached one in place of it. */
  #sharePage(cached: CachedPage, pages: number[], at: number): void {
    if (cached.page === null) this.tree.place(cached, pages[at]!);
    else if (cached.page !== pages[at]) {
      // Another sequence has computed the same page meanwhile.
      this.#pool.give([pages[at]!]);
      pages[at] = cached.page;
    }
  }

  #take(): number | undefined {
    if (this.#pool.free === 0) this.#evicted += this.tree.evict(this.#share);
    return this.#pool.take();
  }

  #giveBack(placement: Placement): void {
    const { loads } = placement.prefix;
    const own = ownPages(placement);
    for (const { cached } of loads) {
      this.#pool.give([cached.page!]);
      cached.loading = false;
      this.tree.place(cached, null);
    }
    for (const cached of heldBy(placement).toReversed()) this.tree.release(cached);
    this.#pool.give(own);
    placement.forgetPages();
  }
}

/** Cached pages that a sequence holds, in order of position. */
function heldBy({ prefix, passedPages }: Placement): CachedPage[] {
  return prefix.nodes.flatMap(({ pages }, at) => pages.filter(({ group }) => at >= passedPages[group]!));
}

/** Pages that belong to a sequence alone. */
function ownPages({ prefix, tables, passedPages }: Placement): number[] {
  return tables.flatMap((pages, group) => pages.slice(Math.max(prefix.nodes.length, passedPages[group]!)));
}
