// The prefix cache: which KV pages hold which tokens. A node is one full page of tokens after those of its parents; its bytes
// are on the device, in host memory, or on both. Sequences hold the nodes of their prefix; what nobody holds may go, the least
// recently used first. A node is never used more recently than its parent, so leaves go before what they hang on.

export interface PageNode {
  readonly scope: string;
  readonly parent: PageNode | null;
  /** The page's tokens. */
  readonly key: string;
  /** Pages before it. */
  readonly depth: number;
  readonly children: Map<string, PageNode>;
  /** Where it is on the device. */
  page: number | null;
  /** Its page is taken, its bytes are still to be written there. */
  loading: boolean;
  /** Its bytes outside the device. */
  host: Uint8Array | null;
  /** Sequences that hold it. */
  users: number;
  lastUsed: number;
  /** No longer found; its page goes with its last user. */
  forgotten: boolean;
}

export interface PrefixTree {
  /** Tells of bytes that come and go. */
  watch(watcher: TreeWatcher): void;
  /** Pages on the device that nobody holds. */
  readonly evictable: number;
  /** Pages on the device. */
  readonly onDevice: number;
  /** The longest run of nodes for the first `most` keys. */
  find(scope: string, keys: readonly string[], most: number): PageNode[];
  /** The child of that key, made where it is new: without bytes anywhere, to be given some at once. */
  child(scope: string, parent: PageNode | null, key: string): PageNode;
  hold(node: PageNode): void;
  letGo(node: PageNode): void;
  /** The node's page from now on; null: none. */
  place(node: PageNode, page: number | null): void;
  /** Bytes outside the device; null: none. */
  keep(node: PageNode, bytes: Uint8Array | null): void;
  /** Now is when these were used; `node` is the last of a path. */
  touch(node: PageNode): void;
  /** Frees up to so many pages on the device, those last that are about to be copied; how many it freed. */
  evict(count: number): number;
  /** Nobody finds these and what hangs on them any more; left out: all there are. */
  forget(nodes?: readonly PageNode[]): void;
  /** The device's bytes are gone, and nobody holds any. */
  lose(): void;
}

export interface TreeWatcher {
  /** Bytes kept outside the device have changed by so many. */
  kept(node: PageNode, bytes: number): void;
  /** It has a page on the device now. */
  placed(node: PageNode): void;
  /** Whether its bytes are on their way from the device, or are to be: it stays in the tree even where it has none by now. */
  wants(node: PageNode): boolean;
  /** The pages of these are about to be another's; for the last time they can be copied. */
  leaving(nodes: readonly PageNode[]): void;
}

/** `give` takes back a page of the device. */
export function createPrefixTree(give: (page: number) => void): PrefixTree {
  const scopes = new Map<string, Map<string, PageNode>>();
  const onDevice = new Set<PageNode>();
  let evictable = 0;
  let clock = 0;
  let watcher: TreeWatcher | null = null;

  const siblings = (scope: string, parent: PageNode | null): Map<string, PageNode> => {
    if (parent) return parent.children;
    let roots = scopes.get(scope);
    if (!roots) scopes.set(scope, (roots = new Map()));
    return roots;
  };

  const setPage = (node: PageNode, page: number | null): void => {
    const free = node.users === 0 ? 1 : 0;
    if (node.page === null && page !== null) {
      onDevice.add(node);
      evictable += free;
    } else if (node.page !== null && page === null) {
      onDevice.delete(node);
      evictable -= free;
    }
    node.page = page;
  };

  const setHost = (node: PageNode, bytes: Uint8Array | null): void => {
    const change = (bytes?.length ?? 0) - (node.host?.length ?? 0);
    node.host = bytes;
    if (change !== 0) watcher?.kept(node, change);
  };

  const detach = (node: PageNode): void => {
    const around = siblings(node.scope, node.parent);
    if (around.get(node.key) === node) around.delete(node.key);
    if (!node.parent && around.size === 0) scopes.delete(node.scope);
  };

  const dropAll = (node: PageNode): void => {
    for (const child of node.children.values()) dropAll(child);
    node.children.clear();
    node.forgotten = true;
    setHost(node, null);
    if (node.users === 0 && node.page !== null) {
      give(node.page);
      setPage(node, null);
    }
  };

  /** A node without bytes is no use, nor is what hangs on it. */
  const prune = (node: PageNode): void => {
    if (node.page !== null || node.host !== null || node.users > 0 || node.forgotten) return;
    if (watcher?.wants(node)) return;
    detach(node);
    dropAll(node);
  };

  return {
    watch: (by) => void (watcher = by),
    get evictable() {
      return evictable;
    },
    get onDevice() {
      return onDevice.size;
    },
    find(scope, keys, most) {
      const path: PageNode[] = [];
      let around = scopes.get(scope);
      while (around && path.length < most) {
        const node = around.get(keys[path.length]!);
        if (!node || (node.page === null && node.host === null)) break;
        path.push(node);
        around = node.children;
      }
      return path;
    },
    child(scope, parent, key) {
      const around = siblings(scope, parent);
      let node = around.get(key);
      if (!node) {
        node = {
          scope,
          parent,
          key,
          depth: parent ? parent.depth + 1 : 0,
          children: new Map(),
          page: null,
          loading: false,
          host: null,
          users: 0,
          lastUsed: clock,
          forgotten: parent?.forgotten ?? false,
        };
        around.set(key, node);
      }
      return node;
    },
    hold(node) {
      if (node.users++ === 0 && node.page !== null) evictable--;
    },
    letGo(node) {
      if (--node.users > 0 || node.page === null) return;
      evictable++;
      if (!node.forgotten) return;
      give(node.page);
      setPage(node, null);
    },
    place(node, page) {
      setPage(node, page);
      if (page !== null) watcher?.placed(node);
      prune(node);
    },
    keep(node, bytes) {
      if (node.forgotten) return;
      setHost(node, bytes);
      prune(node);
    },
    touch(node) {
      clock++;
      for (let at: PageNode | null = node; at; at = at.parent) at.lastUsed = clock;
    },
    evict(count) {
      const all = leastRecent([...onDevice].filter(({ users }) => users === 0));
      const wanted = new Set(watcher ? all.filter(watcher.wants) : []);
      const victims = [...all.filter((node) => !wanted.has(node)), ...wanted].slice(0, count);
      watcher?.leaving(victims.filter((node) => wanted.has(node)));
      for (const node of victims) {
        give(node.page!);
        setPage(node, null);
        prune(node);
      }
      return victims.length;
    },
    forget(nodes = [...scopes.values()].flatMap((around) => [...around.values()])) {
      for (const node of nodes) {
        if (node.forgotten) continue;
        detach(node);
        dropAll(node);
      }
    },
    lose() {
      const lost = [...onDevice];
      onDevice.clear();
      evictable = 0;
      for (const node of lost) Object.assign(node, { page: null, loading: false, users: 0 });
      lost.forEach(prune);
    },
  };
}

/** First those to go first; of one path those that are on the device, then the last. */
export function leastRecent(nodes: PageNode[]): PageNode[] {
  const isOnDevice = ({ page }: PageNode): number => (page === null ? 0 : 1);
  return nodes.sort((a, b) => a.lastUsed - b.lastUsed || isOnDevice(b) - isOnDevice(a) || b.depth - a.depth);
}

/** Tokens of a page as a key: two UTF-16 units each. */
export function pageKey(ids: readonly number[], first: number, count: number): string {
  const units = new Uint16Array(2 * count);
  for (let i = 0; i < count; i++) {
    units[2 * i] = ids[first + i]! & 0xffff;
    units[2 * i + 1] = ids[first + i]! >>> 16;
  }
  return String.fromCharCode(...units);
}
