// Fetches the pages of a prompt from storage to host memory, and to the device if it has pages to spare.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { PageStorage } from '../../platform.ts';
import type { Sequence } from '../sequence.ts';
import type { Runner } from '../step/runner.ts';
import type { HostTier } from './host-tier.ts';
import type { PageNames } from './page-names.ts';
import type { PageNode } from './prefix-tree.ts';
import { keysOf, findablePages, type SequencePages } from './sequence-pages.ts';

export interface FetchOptions {
  pages: SequencePages;
  host: HostTier;
  runner: () => Runner;
  storage: PageStorage;
  names: PageNames;
}

/** Pages read from storage at a time. */
const READS = 8;

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
  async run(sequence: Sequence, isOver: () => boolean, onProgress: () => void): Promise<void> {
    const { pages, host, runner, storage } = this.#options;
    const { prefix } = sequence.placement;
    const most = findablePages(sequence);
    const keys = keysOf(sequence, most);
    const known = pages.tree.find(prefix.scope, keys, most);
    const first = known.length;
    const names = this.#namesOf(prefix.scope, keys.slice(0, most), known);
    let end = first < most ? first + (await storage.leading(names.slice(first))) : first;
    storage.touch(names.slice(0, end));
    /** Pages that may stay on the host only until the sequence is admitted. */
    let room = Math.floor(host.total / 2 / runner().pageBytes);
    prefix.fetched = [first, first];
    for (let at = first; at < end; at += READS) {
      const reads = names.slice(at, Math.min(at + READS, end)).map((name) => this.#read(name));
      for (const page of reads) void page.then(onProgress, () => {});
      const read = await Promise.all(reads);
      const path = pages.tree.find(prefix.scope, keys, at);
      if (path.length < at || isOver()) return;
      for (const bytes of read) {
        if (bytes?.length !== runner().pageBytes) return;
        const name = names[path.length]!;
        this.#add(path, prefix.scope, keys[path.length]!, name, bytes);
        prefix.fetched[1]++;
        if (!this.#bring(path) && --room <= 0) end = path.length;
        host.trim();
        if (path.length === end) return;
      }
    }
  }

  /** Names of all pages of a prompt; `known` are the nodes of the first ones. */
  #namesOf(scope: string, keys: readonly string[], known: readonly PageNode[]): string[] {
    const { names } = this.#options;
    const all = known.map((node) => names.of(node));
    for (const key of keys.slice(known.length)) all.push(names.after(all.at(-1) ?? null, scope, key));
    return all;
  }

  #read(name: string): Promise<Uint8Array | null> {
    let page = this.#reading.get(name);
    if (!page) {
      page = this.#options.storage.read(name).finally(() => this.#reading.delete(name));
      this.#reading.set(name, page);
    }
    return page;
  }

  /** Appends the node of a page that was read to its path. */
  #add(path: PageNode[], scope: string, key: string, name: string, bytes: Uint8Array): void {
    const { tree } = this.#options.pages;
    const node = tree.child(scope, path.at(-1) ?? null, key);
    if (!node.host && node.page === null) {
      tree.keep(node, bytes);
      this.#options.names.set(node, name);
      this.#tokens += PAGE_TOKENS;
    }
    tree.touch(node);
    path.push(node);
  }

  /** Writes the last node of a path to the device, unless it is there; false: every page is in use. */
  #bring(path: readonly PageNode[]): boolean {
    const { pages, runner } = this.#options;
    const { page, host } = path.at(-1)!;
    if (page !== null) return true;
    if (!host || runner().device.isLost || !pages.bring(path)) return false;
    runner().pageCleaner.ahead(pages.pool.touched);
    runner().movePages({ copies: [], loads: [{ page: path.at(-1)!.page!, bytes: host }] });
    return true;
  }
}
