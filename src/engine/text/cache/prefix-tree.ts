// The prefix cache: which KV pages hold which tokens. A node is one full page of tokens that follow those of its parents; its bytes
// are on the device, in host memory, or in both. Sequences hold the nodes of their prefix; nodes that no sequence holds are evicted,
// least recently used first. A node is never used more recently than its parent, so leaves are evicted before their parents.

export interface PageNode {
  readonly scope: string;
  readonly parent: PageNode | null;
  /** Tokens of the page (see `pageKey`). */
  readonly key: string;
  /** Number of pages before this one. */
  readonly depth: number;
  readonly children: Map<string, PageNode>;
  /** Page on the device; null: its bytes are not there. */
  page: number | null;
  /** The page is taken and its bytes are still to be written to it. */
  loading: boolean;
  /** Copy in host memory; null: none. */
  host: Uint8Array | null;
  /** Number of sequences that hold it. */
  users: number;
  lastUsed: number;
  /** It can no longer be found, and its page is freed with its last user. */
  forgotten: boolean;
}

/** Is notified of bytes that come and go, and may delay the removal of nodes. */
export interface TreeWatcher {
  /** The bytes that a node keeps in host memory have changed by this number. */
  kept(node: PageNode, bytes: number): void;
  /** The node has a page on the device now. */
  placed(node: PageNode): void;
  /** Whether the node's bytes are being copied from the device, or will be: it stays in the tree even without bytes. */
  wants(node: PageNode): boolean;
  /** The pages of these nodes are about to be reused: this is the last moment to copy them. */
  leaving(nodes: readonly PageNode[]): void;
}

export class PrefixTree {
  readonly #scopes = new Map<string, Map<string, PageNode>>();
  readonly #onDevice = new Set<PageNode>();
  readonly #freePage: (page: number) => void;
  #evictable = 0;
  #clock = 0;
  #watcher: TreeWatcher | null = null;

  /** `freePage` takes back a page of the device. */
  constructor(freePage: (page: number) => void) {
    this.#freePage = freePage;
  }

  watch(watcher: TreeWatcher): void {
    this.#watcher = watcher;
  }

  /** Pages on the device that no sequence holds. */
  get evictable(): number {
    return this.#evictable;
  }

  /** Pages of the cache on the device. */
  get onDevice(): number {
    return this.#onDevice.size;
  }

  /** The longest run of nodes for the first `most` keys. */
  find(scope: string, keys: readonly string[], most: number): PageNode[] {
    const path: PageNode[] = [];
    let siblings = this.#scopes.get(scope);
    while (siblings && path.length < most) {
      const node = siblings.get(keys[path.length]!);
      if (!node || (node.page === null && node.host === null)) break;
      path.push(node);
      siblings = node.children;
    }
    return path;
  }

  /** The child with this key. A new one has no bytes anywhere: the caller gives it some at once. */
  child(scope: string, parent: PageNode | null, key: string): PageNode {
    const siblings = this.#siblings(scope, parent);
    const known = siblings.get(key);
    if (known) return known;
    const node: PageNode = {
      scope,
      parent,
      key,
      depth: parent ? parent.depth + 1 : 0,
      children: new Map(),
      page: null,
      loading: false,
      host: null,
      users: 0,
      lastUsed: this.#clock,
      forgotten: parent?.forgotten ?? false,
    };
    siblings.set(key, node);
    return node;
  }

  hold(node: PageNode): void {
    if (node.users++ === 0 && node.page !== null) this.#evictable--;
  }

  release(node: PageNode): void {
    if (--node.users > 0 || node.page === null) return;
    this.#evictable++;
    if (node.forgotten) this.#free(node);
  }

  /** Sets the node's page on the device; null: it has none any more. */
  place(node: PageNode, page: number | null): void {
    this.#setPage(node, page);
    if (page !== null) this.#watcher?.placed(node);
    this.#prune(node);
  }

  /** Sets the node's copy in host memory; null: none. */
  keep(node: PageNode, bytes: Uint8Array | null): void {
    if (node.forgotten) return;
    this.#setHost(node, bytes);
    this.#prune(node);
  }

  /** Marks a path as used now; `node` is its last node. */
  touch(node: PageNode): void {
    this.#clock++;
    for (let at: PageNode | null = node; at; at = at.parent) at.lastUsed = this.#clock;
  }

  /** Frees up to `count` pages on the device, those that the watcher wants last; the number of pages that are free by that. */
  evict(count: number): number {
    const watcher = this.#watcher;
    const all = leastRecent([...this.#onDevice].filter(({ users }) => users === 0));
    const wanted = new Set(watcher ? all.filter((node) => watcher.wants(node)) : []);
    const victims = [...all.filter((node) => !wanted.has(node)), ...wanted].slice(0, count);
    watcher?.leaving(victims.filter((node) => wanted.has(node)));
    for (const node of victims) {
      this.#free(node);
      this.#prune(node);
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
    const lost = [...this.#onDevice];
    this.#onDevice.clear();
    this.#evictable = 0;
    for (const node of lost) Object.assign(node, { page: null, loading: false, users: 0 });
    for (const node of lost) this.#prune(node);
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

  #setPage(node: PageNode, page: number | null): void {
    const unused = node.users === 0 ? 1 : 0;
    if (node.page === null && page !== null) {
      this.#onDevice.add(node);
      this.#evictable += unused;
    } else if (node.page !== null && page === null) {
      this.#onDevice.delete(node);
      this.#evictable -= unused;
    }
    node.page = page;
  }

  #free(node: PageNode): void {
    this.#freePage(node.page!);
    this.#setPage(node, null);
  }

  #setHost(node: PageNode, bytes: Uint8Array | null): void {
    const change = (bytes?.length ?? 0) - (node.host?.length ?? 0);
    node.host = bytes;
    if (change !== 0) this.#watcher?.kept(node, change);
  }

  /** Removes a node that has no bytes, together with its descendants, which cannot be found without it. */
  #prune(node: PageNode): void {
    if (node.page !== null || node.host !== null || node.users > 0 || node.forgotten) return;
    if (this.#watcher?.wants(node)) return;
    this.#detach(node);
    this.#dropAll(node);
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
    this.#setHost(node, null);
    if (node.users === 0 && node.page !== null) this.#free(node);
  }
}

/** Sorts by eviction order: least recently used first; within one path nodes on the device first, then the deepest. */
export function leastRecent(nodes: PageNode[]): PageNode[] {
  const isOnDevice = ({ page }: PageNode): number => (page === null ? 0 : 1);
  return nodes.sort((a, b) => a.lastUsed - b.lastUsed || isOnDevice(b) - isOnDevice(a) || b.depth - a.depth);
}

/** The ids of a page as a string key: two UTF-16 units each. */
export function pageKey(ids: readonly number[], first: number, count: number): string {
  const units = new Uint16Array(2 * count);
  for (let i = 0; i < count; i++) {
    units[2 * i] = ids[first + i]! & 0xffff;
    units[2 * i + 1] = ids[first + i]! >>> 16;
  }
  return String.fromCharCode(...units);
}
