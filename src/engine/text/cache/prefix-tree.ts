// The prefix cache: which KV pages hold which tokens. A node is one full page of tokens that follow those of its parents. It has a page
// for each group of layers, whose bytes are on the device, in host memory, in both, or nowhere. A prefix is found if the groups that
// see all tokens have bytes for every node of it, and windowed groups for the nodes that the next query sees. If layers have fixed
// states, a prefix ends at a node with a copy of them. Sequences hold the pages that they see; pages that no sequence holds are evicted,
// least recently used first, and copies of states likewise among themselves. A page is never used more recently than the same group's
// page of the parent, unless the window has passed that one.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import {
  CachedPlaces,
  hasBytes,
  pageNode,
  partOf,
  sharedTokens,
  STATES,
  type CachedPage,
  type PageNode,
} from './cached-page.ts';
import { firstVisiblePage } from '../kv/pages.ts';

/** Is notified of bytes that come and go, and may delay the removal of nodes. */
export interface TreeWatcher {
  /** The bytes that are kept in host memory of a page have changed by this number. */
  kept(cached: CachedPage, bytes: number): void;
  /** The bytes are on the device now. */
  placed(cached: CachedPage): void;
  /** Whether the bytes are being copied from the device, or will be: the node stays in the tree even without bytes. */
  wants(cached: CachedPage): boolean;
  /** These pages are about to be reused: this is the last moment to copy them. */
  leaving(cached: readonly CachedPage[]): void;
}

export class PrefixTree {
  readonly #windows: readonly (number | null)[];
  /** Groups that see all tokens. */
  readonly #full: readonly number[];
  readonly #scopes = new Map<string, Map<string, PageNode>>();
  readonly #pages: CachedPlaces;
  /** Copies of fixed states; null: no layer has one. */
  readonly #states: CachedPlaces | null;
  #clock = 0;
  #watcher: TreeWatcher | null = null;

  /**
   * `freePage` takes back a page of the device. `windows`: tokens that each group of layers looks back on; null: all. `freeState` takes
   * back the place of a copy of fixed states; null: no layer has one.
   */
  constructor(
    freePage: (page: number) => void,
    windows: readonly (number | null)[] = [null],
    freeState: ((place: number) => void) | null = null,
  ) {
    this.#pages = new CachedPlaces(freePage);
    this.#states = freeState && new CachedPlaces(freeState);
    this.#windows = windows;
    this.#full = windows.flatMap((window, group) => (window === null ? [group] : []));
  }

  watch(watcher: TreeWatcher): void {
    this.#watcher = watcher;
  }

  /** Pages on the device that no sequence holds. */
  get evictable(): number {
    return this.#pages.evictable;
  }

  /** Pages of the cache on the device. */
  get onDevice(): number {
    return this.#pages.count;
  }

  /** The longest run of nodes for the first `most` keys that a sequence can continue. */
  find(scope: string, keys: readonly string[], most: number): PageNode[] {
    const path = this.walk(scope, keys, most);
    if (this.#full.length === this.#windows.length && !this.#states) return path;
    /** Number of nodes with bytes up to the current one, by group. */
    const runs = this.#windows.map(() => 0);
    let longest = 0;
    path.forEach(({ pages, state }, at) => {
      let isWhole = state === null || hasBytes(state);
      for (const [group, window] of this.#windows.entries()) {
        if (window === null) continue;
        runs[group] = hasBytes(pages[group]!) ? runs[group]! + 1 : 0;
        isWhole &&= runs[group] >= at + 1 - firstVisiblePage((at + 1) * PAGE_TOKENS, window);
      }
      if (isWhole) longest = at + 1;
    });
    return path.slice(0, longest);
  }

  /** The longest run of nodes for which the groups that see all tokens have bytes. */
  walk(scope: string, keys: readonly string[], most: number): PageNode[] {
    const path: PageNode[] = [];
    let siblings = this.#scopes.get(scope);
    while (siblings && path.length < most) {
      const node = siblings.get(keys[path.length]!);
      if (!node || !this.#full.every((group) => hasBytes(node.pages[group]!))) break;
      path.push(node);
      siblings = node.children;
    }
    return path;
  }

  /** The child of a path's end whose page begins with most of these tokens' key, with its bytes on the device, and their number; null: none does. */
  closest(scope: string, parent: PageNode | null, key: string): { node: PageNode; tokens: number } | null {
    let closest: { node: PageNode; tokens: number } | null = null;
    for (const node of (parent ? parent.children : this.#scopes.get(scope))?.values() ?? []) {
      const tokens = sharedTokens(node.key, key);
      if (tokens <= (closest?.tokens ?? 0)) continue;
      if (node.pages.every(({ page, loading }) => page !== null && !loading)) closest = { node, tokens };
    }
    return closest;
  }

  /** The child with this key. A new one has no bytes anywhere: the caller holds it or gives it some at once. */
  child(scope: string, parent: PageNode | null, key: string): PageNode {
    const siblings = this.#siblings(scope, parent);
    const known = siblings.get(key);
    if (known) return known;
    const shape = { groups: this.#windows.length, hasState: this.#states !== null };
    const node = pageNode(shape, scope, parent, key, this.#clock);
    siblings.set(key, node);
    return node;
  }

  hold(cached: CachedPage): void {
    this.#pages.hold(cached);
  }

  release(cached: CachedPage): void {
    this.#pages.release(cached);
  }

  /** Sets the page on the device; null: there is none any more. `isLasting`: false until `settle` is called for it. */
  place(cached: CachedPage, page: number | null, isLasting = true): void {
    this.#placesOf(cached).set(cached, page);
    if (page !== null && isLasting) this.#watcher?.placed(cached);
    this.#prune(cached.node);
  }

  /** Notifies the watcher of bytes that stay on the device from now on. */
  settle(cached: CachedPage): void {
    if (cached.page !== null) this.#watcher?.placed(cached);
  }

  /** Gives back the place of a copy of fixed states. */
  drop(state: CachedPage): void {
    this.#states!.free(state);
    this.#prune(state.node);
  }

  /** Sets the copy in host memory; null: none. */
  keep(cached: CachedPage, bytes: Uint8Array | null): void {
    if (cached.node.forgotten) return;
    this.#setHost(cached, bytes);
    this.#prune(cached.node);
  }

  /** Sets copies in host memory of several parts of a node. */
  fill(node: PageNode, copies: readonly { group: number; bytes: Uint8Array }[]): void {
    if (node.forgotten) return;
    for (const { group, bytes } of copies) this.#setHost(partOf(node, group), bytes);
    this.#prune(node);
  }

  /** Marks as used now what the query after a path sees; `node` is the path's last node. */
  touch(node: PageNode): void {
    this.#clock++;
    const end = (node.depth + 1) * PAGE_TOKENS;
    const firsts = this.#windows.map((window) => (window === null ? 0 : firstVisiblePage(end, window)));
    for (let at: PageNode | null = node; at; at = at.parent)
      for (let group = 0; group < firsts.length; group++)
        if (at.depth >= firsts[group]!) at.pages[group]!.lastUsed = this.#clock;
    if (node.state) node.state.lastUsed = this.#clock;
  }

  /** Frees up to `count` pages on the device, those that the watcher wants last; returns the number of pages freed. */
  evict(count: number): number {
    return this.#evictFrom(this.#pages, count);
  }

  /** Frees up to `count` places of copies of fixed states likewise. */
  evictStates(count: number): number {
    return this.#evictFrom(this.#states!, count);
  }

  #evictFrom(places: CachedPlaces, count: number): number {
    const watcher = this.#watcher;
    const all = places.leastRecent();
    const wanted = new Set(watcher ? all.filter((cached) => watcher.wants(cached)) : []);
    const victims = [...all.filter((cached) => !wanted.has(cached)), ...wanted].slice(0, count);
    watcher?.leaving(victims.filter((cached) => wanted.has(cached)));
    for (const cached of victims) {
      if (cached.page !== null) places.free(cached); // otherwise freed together with another victim's node
      this.#prune(cached.node);
    }
    return victims.length;
  }

  /** Removes these nodes and their descendants from the tree; without an argument, all nodes. */
  forget(nodes: readonly PageNode[] = this.#roots()): void {
    for (const node of nodes) {
      if (node.forgotten) continue;
      this.#detach(node);
      this.#dropAll(node);
    }
  }

  /** Takes note that the device's bytes are lost and that no sequence holds any. */
  lose(): void {
    const lost = [...this.#pages.lose(), ...(this.#states?.lose() ?? [])];
    for (const { node } of lost) this.#prune(node);
  }

  #roots(): PageNode[] {
    return [...this.#scopes.values()].flatMap((siblings) => [...siblings.values()]);
  }

  #siblings(scope: string, parent: PageNode | null): Map<string, PageNode> {
    if (parent) return parent.children;
    let roots = this.#scopes.get(scope);
    if (!roots) this.#scopes.set(scope, (roots = new Map()));
    return roots;
  }

  #placesOf({ group }: CachedPage): CachedPlaces {
    return group === STATES ? this.#states! : this.#pages;
  }

  #setHost(cached: CachedPage, bytes: Uint8Array | null): void {
    const change = (bytes?.length ?? 0) - (cached.host?.length ?? 0);
    cached.host = bytes;
    if (change !== 0) this.#watcher?.kept(cached, change);
  }

  /** Whether nothing keeps a page in the tree. */
  #isIdle(cached: CachedPage): boolean {
    return !hasBytes(cached) && cached.users === 0 && !this.#watcher?.wants(cached);
  }

  /**
   * Removes a node without which no prefix can be found: one that lacks bytes of a group that sees all tokens, together with its
   * descendants. If all groups are windowed, only nodes without any bytes and descendants are of no use.
   */
  #prune(node: PageNode): void {
    if (node.forgotten) return;
    const isLost =
      this.#full.length > 0
        ? this.#full.some((group) => this.#isIdle(node.pages[group]!))
        : node.children.size === 0 && node.pages.every((cached) => this.#isIdle(cached));
    if (!isLost) return;
    this.#detach(node);
    this.#dropAll(node);
    if (node.parent) this.#prune(node.parent);
  }

  #detach(node: PageNode): void {
    const siblings = this.#siblings(node.scope, node.parent);
    if (siblings.get(node.key) === node) siblings.delete(node.key);
    if (!node.parent && siblings.size === 0) this.#scopes.delete(node.scope);
  }

  #dropAll(node: PageNode): void {
    for (const child of node.children.values()) this.#dropAll(child);
    node.children.clear();
    node.forgotten = true;
    for (const cached of node.state ? [...node.pages, node.state] : node.pages) {
      this.#setHost(cached, null);
      if (cached.users === 0 && cached.page !== null) this.#placesOf(cached).free(cached);
    }
  }
}
