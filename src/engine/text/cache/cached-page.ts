// A node of the prefix cache, with its page of each group of layers.

export interface PageNode {
  readonly scope: string;
  readonly parent: PageNode | null;
  /** Tokens of the page (see `pageKey`). */
  readonly key: string;
  /** Number of pages before this one. */
  readonly depth: number;
  readonly children: Map<string, PageNode>;
  /** One for each group of layers. */
  readonly pages: readonly CachedPage[];
  /** It can no longer be found, and its pages are freed with their last users. */
  forgotten: boolean;
}

/** A node's page of one group of layers. */
export interface CachedPage {
  readonly node: PageNode;
  readonly group: number;
  /** Page on the device; null: its bytes are not there. */
  page: number | null;
  /** The page is taken and its bytes are still to be written to it. */
  loading: boolean;
  /** Copy in host memory; null: none. */
  host: Uint8Array | null;
  /** Number of sequences that hold it. */
  users: number;
  lastUsed: number;
}

/** A node that has no bytes yet. */
export function pageNode(
  groups: number,
  scope: string,
  parent: PageNode | null,
  key: string,
  lastUsed: number,
): PageNode {
  const pages: CachedPage[] = [];
  const node: PageNode = {
    scope,
    parent,
    key,
    depth: parent ? parent.depth + 1 : 0,
    children: new Map(),
    pages,
    forgotten: parent?.forgotten ?? false,
  };
  for (let group = 0; group < groups; group++)
    pages.push({ node, group, page: null, loading: false, host: null, users: 0, lastUsed });
  return node;
}

/** Whether a page can be found in some tier. */
export function hasBytes({ page, host }: CachedPage): boolean {
  return page !== null || host !== null;
}

/** Sorts by eviction order: least recently used first; within one path pages on the device first, then the deepest. */
export function leastRecent(pages: CachedPage[]): CachedPage[] {
  const isOnDevice = ({ page }: CachedPage): number => (page === null ? 0 : 1);
  return pages.sort(
    (a, b) => a.lastUsed - b.lastUsed || isOnDevice(b) - isOnDevice(a) || b.node.depth - a.node.depth,
  );
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
