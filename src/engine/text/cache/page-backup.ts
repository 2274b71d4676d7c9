// Copies new pages and states of the prefix cache from the device to host memory and to storage, a few at a time, beside the steps. A page that
// cannot be copied is only missing from the cache.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { PageStorage } from '../../platform/platform.ts';
import type { Runner } from '../step/text-runner.ts';
import type { HostTier } from './host-tier.ts';
import type { PageNames } from './page-names.ts';
import { STATES, type CachedPage } from './cached-page.ts';
import type { PrefixTree } from './prefix-tree.ts';

export interface BackupOptions {
  tree: PrefixTree;
  host: HostTier;
  runner: () => Runner;
  storage: PageStorage | null;
  /** null: there is no storage. */
  names: PageNames | null;
}

/** Bytes copied at a time. */
const COPY_BYTES = 2 ** 23;
/** Bytes being copied, beside one copy of fixed states, beyond which pages that are reused at once are dropped without a copy. */
const LATE_BYTES = 2 ** 26;

export class PageBackup {
  readonly #options: BackupOptions;
  /** Pages that are on the device only, in the order in which they came. */
  readonly #fresh = new Set<CachedPage>();
  /** Pages that are being copied to the host and to storage. */
  readonly #copying = new Set<CachedPage>();
  /** Copies of pages that were reused at once. */
  readonly #lateCopies = new Set<Promise<void>>();
  #running: Promise<void> | null = null;
  #tokens = 0;
  /** Time (performance.now) after which no further copy begins. */
  #deadline = Infinity;

  constructor(options: BackupOptions) {
    this.#options = options;
  }

  /** Tokens copied to the host so far. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Whether the page waits for its copy or is being copied. */
  wants(cached: CachedPage): boolean {
    return this.#fresh.has(cached) || this.#copying.has(cached);
  }

  /** Adds a page that is new on the device. */
  add(cached: CachedPage): void {
    const { host, runner } = this.#options;
    if (cached.host || host.total < bytesOf(cached, runner()) || this.#deadline < Infinity) return;
    this.#fresh.add(cached);
    // The copy is submitted after the step that is being planned now, which computes the page.
    this.#running ??= Promise.resolve().then(() => this.#copyFresh());
  }

  /** Copies pages that are about to be reused, unless too many are being copied already. */
  copyNow(pages: readonly CachedPage[]): void {
    const late = pages.filter((cached) => this.#fresh.delete(cached));
    const runner = this.#options.runner();
    const copying = [...this.#copying].reduce((sum, cached) => sum + bytesOf(cached, runner), 0);
    if (late.length === 0 || copying > LATE_BYTES + runner.copyBytes) return;
    // The copy is submitted before the step that reuses the pages.
    const copied = this.#copy(late)
      .then(({ stored }) => stored)
      .finally(() => this.#lateCopies.delete(copied));
    this.#lateCopies.add(copied);
  }

  /** Accepts no more pages; resolves when those that were accepted are copied, or the next copy would begin after `deadline`. */
  async close(deadline: number): Promise<void> {
    this.#deadline = deadline;
    await Promise.all([this.#running, ...this.#lateCopies]);
  }

  async #copyFresh(): Promise<void> {
    let stored = Promise.resolve();
    for (let pages = this.#takeFresh(); pages.length > 0; pages = this.#takeFresh()) {
      if (performance.now() >= this.#deadline) break;
      const copied = await this.#copy(pages);
      await stored; // a slow storage delays the next copy, never a step
      stored = copied.stored;
    }
    this.#running = null;
    await stored;
  }

  /** The next pages, or states, whose bytes are still to be copied. */
  #takeFresh(): CachedPage[] {
    const { tree, runner } = this.#options;
    const taken: CachedPage[] = [];
    for (const cached of this.#fresh) {
      const [first] = taken;
      const most = Math.max(1, Math.floor(COPY_BYTES / bytesOf(first ?? cached, runner())));
      if (taken.length === most) break;
      if (first && (first.group === STATES) !== (cached.group === STATES)) continue;
      this.#fresh.delete(cached);
      if (cached.page !== null && !cached.host && !cached.node.forgotten) taken.push(cached);
      else tree.keep(cached, cached.host); // removes the node if it is of no use any more
    }
    return taken;
  }

  /** Copies pages, or states, to the host; `stored` resolves when they are in storage, too. */
  async #copy(pages: readonly CachedPage[]): Promise<{ stored: Promise<void> }> {
    const { tree, host, runner } = this.#options;
    for (const cached of pages) this.#copying.add(cached);
    const places = pages.map(({ page }) => page!);
    const read = pages[0]!.group === STATES ? runner().readStates(places) : runner().readPages(places);
    const copies = await read.catch(() => null); // the device is lost, and the pages with it
    if (!copies) {
      for (const cached of pages) this.#copying.delete(cached);
      for (const cached of pages) tree.keep(cached, cached.host);
      return { stored: Promise.resolve() };
    }
    this.#tokens += PAGE_TOKENS * pages.filter(({ group }) => group === 0).length;
    const stored = Promise.all(pages.map((cached, i) => this.#store(cached, copies[i]!)));
    host.trim();
    return { stored: stored.then(() => {}) };
  }

  async #store(cached: CachedPage, bytes: Uint8Array): Promise<void> {
    const { tree, storage, names } = this.#options;
    tree.keep(cached, bytes);
    if (storage && names && !cached.node.forgotten)
      await storage.write(names.ofPage(cached), names.before(cached), bytes);
    this.#copying.delete(cached);
    tree.keep(cached, cached.host); // the page may have lost its bytes since
  }
}

function bytesOf({ group }: CachedPage, { pageBytes, copyBytes }: Runner): number {
  return group === STATES ? copyBytes : pageBytes;
}
