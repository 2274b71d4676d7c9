// Fetches the pages of a prompt from storage to host memory, and to the device if it has pages to spare; of the layers' fixed states,
// the copy after the last of these pages.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { PageStorage } from '../../platform/platform.ts';
import type { PlacedSequence } from './placement.ts';
import type { Runner } from '../step/text-runner.ts';
import type { HostTier } from './host-tier.ts';
import type { PageNames } from './page-names.ts';
import { hasBytes, partOf, STATES, type PageNode } from './cached-page.ts';
import { keysOf, findablePages, type SequencePages } from './sequence-pages.ts';

export interface FetchOptions {
  pages: SequencePages;
  host: HostTier;
  runner: () => Runner;
  storage: PageStorage;
  names: PageNames;
}

/** Nodes whose pages are read from storage at a time. */
const READS = 8;
/** Copies of fixed states that storage is asked for at a time. */
const ASKED = 16;

export class PageFetch {
  readonly #options: FetchOptions;
  /** Reads in progress, which requests with equal prompts share. */
  readonly #reading = new Map<string, Promise<Uint8Array | null>>();
  #tokens = 0;

  constructor(options: FetchOptions) {
    this.#options = options;
  }

  /** Tokens fetched so far. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Fetches the prompt's pages in order, until `isOver` returns true or one is missing. `onProgress` is called after each read. */
  async run(sequence: PlacedSequence, isOver: () => boolean, onProgress: () => void): Promise<void> {
    const isWhole = await this.#fetch(sequence, isOver, onProgress);
    // The pages before a damaged copy of fixed states are of use behind an earlier copy.
    if (!isWhole && this.#options.pages.states) await this.#fetch(sequence, isOver, onProgress);
  }

  /** Returns false if a page is missing. */
  async #fetch(sequence: PlacedSequence, isOver: () => boolean, onProgress: () => void): Promise<boolean> {
    const { pages, host, runner } = this.#options;
    const { prefix } = sequence.placement;
    const { scope } = prefix;
    const most = findablePages(sequence);
    const keys = keysOf(sequence, most);
    const found = pages.tree.find(scope, keys, most);
    const first = found.length;
    const names = this.#namesOf(scope, keys.slice(0, most), found);
    const stored = await this.#storedEnd(names, pages.tree.walk(scope, keys, most), first);
    this.#touch(names, stored);
    let end = stored;
    /** Nodes whose pages may stay on the host only until the sequence is admitted. */
    let room = Math.floor(host.total / 2 / runner().pageBytes / pages.windows.length);
    prefix.fetched = [first, first];
    for (let at = first; at < end; at += READS) {
      const known = pages.tree.walk(scope, keys, end);
      const reads = names.slice(at, Math.min(at + READS, end)).map((name, i) => {
        const missing = this.#groupsOf(at + i, stored).filter(
          (group) => !known[at + i] || !hasBytes(partOf(known[at + i]!, group)),
        );
        return Promise.all(missing.map((group) => this.#read(name, group)));
      });
      for (const read of reads) void read.then(onProgress, () => {});
      const read = await Promise.all(reads);
      const path = pages.tree.walk(scope, keys, at);
      if (path.length < at || isOver()) return true;
      for (const copies of read) {
        if (!copies.every((copy) => this.#isWhole(copy))) return false;
        this.#add(path, scope, keys[path.length]!, names[path.length]!, copies);
        prefix.fetched[1]++;
        if (!this.#bring(path) && --room <= 0) end = path.length;
        host.trim();
        if (path.length === end) return true;
      }
    }
    return true;
  }

  /** Groups of layers whose bytes of page `at` a prefix of `end` pages needs. */
  #groupsOf(at: number, end: number): number[] {
    const { windows, states } = this.#options.pages;
    const groups = [...windows.keys()].filter((group) => group === 0 || at >= this.#firstOf(group, end));
    return states && at === end - 1 ? [...groups, STATES] : groups;
  }

  /** The first page that a prefix of `end` pages needs of a group other than the first. */
  #firstOf(group: number, end: number): number {
    return this.#options.pages.firstVisible(group, end * PAGE_TOKENS);
  }

  /**
   * Pages of the longest prefix that storage can complete if `first` pages of it have been found; `known`: nodes whose pages of groups that
   * see all tokens the cache has.
   */
  async #storedEnd(names: readonly string[], known: readonly PageNode[], first: number): Promise<number> {
    const { storage } = this.#options;
    if (first === names.length) return first;
    let end = known.length + (await storage.leading(names.slice(known.length)));
    for (;;) {
      const withStates = await this.#statesEnd(names, known, first, end);
      end = await this.#windowsEnd(names, first, withStates);
      if (end === withStates) return end;
    }
  }

  /** The last boundary up to `end` at which there is a copy of the fixed states; `first`: none is needed there. */
  async #statesEnd(
    names: readonly string[],
    known: readonly PageNode[],
    first: number,
    end: number,
  ): Promise<number> {
    const { storage, pages, names: pageNames } = this.#options;
    if (!pages.states) return end;
    const isKept = async (at: number): Promise<boolean> => {
      const state = known[at - 1]?.state;
      if (state && hasBytes(state)) return true;
      return (await storage.leading([pageNames.inGroup(STATES, names[at - 1]!)])) > 0;
    };
    for (let last = end; last > first; last -= ASKED) {
      const asked = Array.from({ length: Math.min(ASKED, last - first) }, (_, i) => last - i);
      const kept = await Promise.all(asked.map(isKept));
      if (kept.includes(true)) return asked[kept.indexOf(true)]!;
    }
    return first;
  }

  /** The longest prefix up to `most` pages for which storage has the pages of windowed groups. */
  async #windowsEnd(names: readonly string[], first: number, most: number): Promise<number> {
    const { storage, pages, names: pageNames } = this.#options;
    let end = most;
    for (let group = 1; group < pages.windows.length && end > first;) {
      const from = Math.max(first, this.#firstOf(group, end));
      const asked = names.slice(from, end).map((name) => pageNames.inGroup(group, name));
      const stored = from + (await storage.leading(asked));
      // A shorter prefix needs earlier pages of windowed groups, so all of them are asked again.
      group = stored < end ? 1 : group + 1;
      end = stored;
    }
    return end;
  }

  /** Marks as used what a prefix of `end` pages needs in storage: beginnings last, so that they stay longest. */
  #touch(names: readonly string[], end: number): void {
    const { storage, names: pageNames } = this.#options;
    for (let at = end - 1; at >= 0; at--)
      for (const group of this.#groupsOf(at, end))
        if (group !== 0) storage.touch([pageNames.inGroup(group, names[at]!)]);
    storage.touch(names.slice(0, end));
  }

  /** Names of the first group's pages of a prompt; `known` are the first nodes. */
  #namesOf(scope: string, keys: readonly string[], known: readonly PageNode[]): string[] {
    const { names } = this.#options;
    const all = known.map((node) => names.of(node));
    for (const key of keys.slice(known.length)) all.push(names.after(all.at(-1) ?? null, scope, key));
    return all;
  }

  async #read(nodeName: string, group: number): Promise<ReadPage> {
    const name = this.#options.names.inGroup(group, nodeName);
    let page = this.#reading.get(name);
    if (!page) {
      page = this.#options.storage.read(name).finally(() => this.#reading.delete(name));
      this.#reading.set(name, page);
    }
    return { group, bytes: await page };
  }

  #isWhole(page: ReadPage): page is WholePage {
    const { pageBytes, copyBytes } = this.#options.runner();
    return page.bytes?.length === (page.group === STATES ? copyBytes : pageBytes);
  }

  /** Appends the node of pages that were read to its path. */
  #add(path: PageNode[], scope: string, key: string, name: string, read: readonly WholePage[]): void {
    const { tree } = this.#options.pages;
    const node = tree.child(scope, path.at(-1) ?? null, key);
    const copies = read.filter(({ group }) => !hasBytes(partOf(node, group)));
    tree.fill(node, copies);
    if (copies.some(({ group }) => group === 0)) {
      this.#options.names.set(node, name);
      this.#tokens += PAGE_TOKENS;
    }
    tree.touch(node);
    path.push(node);
  }

  /** Writes the bytes of a path's last node to the device, unless they are there; false: every page is in use. */
  #bring(path: readonly PageNode[]): boolean {
    const { pages, runner } = this.#options;
    const missing = path.at(-1)!.pages.filter(({ page, host }) => page === null && host !== null);
    if (missing.length === 0) return true;
    if (runner().device.isLost || !pages.bring(path, missing)) return false;
    runner().pageCleaner.ahead(pages.pool.touched);
    const loads = missing.map(({ page, host }) => ({ page: page!, bytes: host! }));
    runner().movePages({ copies: [], loads, states: [] });
    return true;
  }
}

interface ReadPage {
  group: number;
  /** null: the page is not in storage any more. */
  bytes: Uint8Array | null;
}

type WholePage = ReadPage & { bytes: Uint8Array };
