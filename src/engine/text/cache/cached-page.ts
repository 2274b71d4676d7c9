// A node of the prefix cache, with its page of each group of layers and its copy of the layers' fixed states.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';

export interface PageNode {
  readonly scope: string;
  readonly parent: PageNode | null;
  /** Tokens of the page (see `pageKey`), and the rows of media that they take. */
  readonly key: string;
  /** Number of pages before this one. */
  readonly depth: number;
  readonly children: Map<string, PageNode>;
  /** One for each group of layers. */
  readonly pages: readonly CachedPage[];
  /** Copy of the fixed states after the node's last token (see state-copies.ts); null: no layer has one. */
  readonly state: CachedPage | null;
  /** It can no longer be found, and its pages are freed with their last users. */
  forgotten: boolean;
}

/** Group of the copies of fixed states. */
export const STATES = -1;

/** A node's page of one group of layers, or its copy of the fixed states. */
export interface CachedPage {
  readonly node: PageNode;
  /** Number of the group of layers, or STATES. */
  readonly group: number;
  /** Page on the device, or the place of a copy; null: its bytes are not there. */
  page: number | null;
  /** The page or place is taken and its bytes are still to be written to it. */
  loading: boolean;
  /** Copy in host memory; null: none. */
  host: Uint8Array | null;
  /** Number of sequences that hold it. */
  users: number;
  lastUsed: number;
}

/** A node that has no bytes yet. `groups`: groups of layers with pages; `hasState`: whether a layer has a fixed state. */
export function pageNode(
  { groups, hasState }: { groups: number; hasState: boolean },
  scope: string,
  parent: PageNode | null,
  key: string,
  lastUsed: number,
): PageNode {
  const node: PageNode & { pages: CachedPage[]; state: CachedPage | null } = {
    scope,
    parent,
    key,
    depth: parent ? parent.depth + 1 : 0,
    children: new Map(),
    pages: [],
    state: null,
    forgotten: parent?.forgotten ?? false,
  };
  const empty = (group: number): CachedPage => ({
    ...{ node, group, page: null, loading: false, host: null, users: 0, lastUsed },
  });
  for (let group = 0; group < groups; group++) node.pages.push(empty(group));
  if (hasState) node.state = empty(STATES);
  return node;
}

/** The part of a node that belongs to a group. */
export function partOf({ pages, state }: PageNode, group: number): CachedPage {
  return group === STATES ? state! : pages[group]!;
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

/** UTF-16 units of a token in a key. */
const UNITS = 2;

/** The ids of a page as a string key. */
export function pageKey(ids: readonly number[], first: number, count: number): string {
  const units = new Uint16Array(UNITS * count);
  for (let i = 0; i < count; i++) {
    units[UNITS * i] = ids[first + i]! & 0xffff;
    units[UNITS * i + 1] = ids[first + i]! >>> 16;
  }
  return String.fromCharCode(...units);
}

/** Tokens with which two keys begin alike, of pages without media: 0 for others. */
export function sharedTokens(key: string, other: string): number {
  if (key.length > UNITS * PAGE_TOKENS) return 0;
  const most = Math.min(key.length, other.length);
  let units = 0;
  while (units < most && key.charCodeAt(units) === other.charCodeAt(units)) units++;
  return Math.floor(units / UNITS);
}

/** Pages of the prefix cache on the device, or copies of fixed states there: those that no sequence holds can be evicted. */
export class CachedPlaces {
  readonly #all = new Set<CachedPage>();
  readonly #give: (page: number) => void;
  #evictable = 0;

  /** `give` takes back a page of the device. */
  constructor(give: (page: number) => void) {
    this.#give = give;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Number of those that no sequence holds. */
  get evictable(): number {
    return this.#evictable;
  }

  hold(cached: CachedPage): void {
    if (cached.users++ === 0 && cached.page !== null) this.#evictable--;
  }

  release(cached: CachedPage): void {
    if (--cached.users > 0 || cached.page === null) return;
    this.#evictable++;
    if (cached.node.forgotten) this.free(cached);
  }

  /** Sets the page on the device; null: there is none any more. */
  set(cached: CachedPage, page: number | null): void {
    const unused = cached.users === 0 ? 1 : 0;
    if (cached.page === null && page !== null) {
      this.#all.add(cached);
      this.#evictable += unused;
    } else if (cached.page !== null && page === null) {
      this.#all.delete(cached);
      this.#evictable -= unused;
    }
    cached.page = page;
  }

  /** Gives the page back. */
  free(cached: CachedPage): void {
    this.#give(cached.page!);
    this.set(cached, null);
  }

  /** Those that can be evicted, least recently used first. */
  leastRecent(): CachedPage[] {
    return leastRecent([...this.#all].filter(({ users, loading }) => users === 0 && !loading));
  }

  /** Takes note that the device is lost, and returns what was on it. */
  lose(): CachedPage[] {
    const lost = [...this.#all];
    this.#all.clear();
    this.#evictable = 0;
    for (const cached of lost) Object.assign(cached, { page: null, loading: false, users: 0 });
    return lost;
  }
}
