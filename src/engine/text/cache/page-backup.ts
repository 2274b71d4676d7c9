// Copies new pages of the prefix cache from the device to host memory and to storage, a few at a time, beside the steps. A page that
// cannot be copied is only missing from the cache.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { PageStorage } from '../../platform.ts';
import type { Runner } from '../step/runner.ts';
import type { HostTier } from './host-tier.ts';
import type { PageNames } from './page-names.ts';
import type { PageNode, PrefixTree } from './prefix-tree.ts';

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
/** Bytes being copied beyond which pages that are reused at once are dropped without a copy. */
const LATE_BYTES = 2 ** 26;

export class PageBackup {
  readonly #options: BackupOptions;
  /** Nodes that are on the device only, in the order in which they came. */
  readonly #fresh = new Set<PageNode>();
  /** Nodes that are being copied to the host and to storage. */
  readonly #copying = new Set<PageNode>();
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

  /** Whether the node waits for its copy or is being copied. */
  wants(node: PageNode): boolean {
    return this.#fresh.has(node) || this.#copying.has(node);
  }

  /** Adds a node that is new on the device. */
  add(node: PageNode): void {
    const { host, runner } = this.#options;
    if (node.host || host.total < runner().pageBytes || this.#deadline < Infinity) return;
    this.#fresh.add(node);
    // The copy is submitted after the step that is being planned now, which computes the page.
    this.#running ??= Promise.resolve().then(() => this.#copyFresh());
  }

  /** Copies nodes whose pages are about to be reused, unless too many are being copied already. */
  copyNow(nodes: readonly PageNode[]): void {
    const late = nodes.filter((node) => this.#fresh.delete(node));
    if (late.length === 0 || this.#copying.size * this.#options.runner().pageBytes > LATE_BYTES) return;
    // The copy is submitted before the step that reuses the pages.
    const copied = this.#copy(late)
      .then(({ stored }) => stored)
      .finally(() => this.#lateCopies.delete(copied));
    this.#lateCopies.add(copied);
  }

  /** Accepts no more nodes; resolves when those that were accepted are copied, or the next copy would begin after `deadline`. */
  async close(deadline: number): Promise<void> {
    this.#deadline = deadline;
    await Promise.all([this.#running, ...this.#lateCopies]);
  }

  async #copyFresh(): Promise<void> {
    let stored = Promise.resolve();
    for (let nodes = this.#takeFresh(); nodes.length > 0; nodes = this.#takeFresh()) {
      if (performance.now() >= this.#deadline) break;
      const copied = await this.#copy(nodes);
      await stored; // a slow storage delays the next copy, never a step
      stored = copied.stored;
    }
    this.#running = null;
    await stored;
  }

  /** The next nodes that still have a page to copy. */
  #takeFresh(): PageNode[] {
    const { tree, runner } = this.#options;
    const most = Math.max(1, Math.floor(COPY_BYTES / runner().pageBytes));
    const taken: PageNode[] = [];
    for (const node of this.#fresh) {
      if (taken.length === most) break;
      this.#fresh.delete(node);
      if (node.page !== null && !node.host && !node.forgotten) taken.push(node);
      else tree.keep(node, node.host); // removes the node if it has no bytes any more
    }
    return taken;
  }

  /** Copies to the host; `stored` resolves when the pages are in storage, too. */
  async #copy(nodes: readonly PageNode[]): Promise<{ stored: Promise<void> }> {
    const { tree, host, runner } = this.#options;
    for (const node of nodes) this.#copying.add(node);
    const copies = await runner()
      .readPages(nodes.map(({ page }) => page!))
      .catch(() => null); // the device is lost, and the pages with it
    if (!copies) {
      for (const node of nodes) this.#copying.delete(node);
      for (const node of nodes) tree.keep(node, node.host);
      return { stored: Promise.resolve() };
    }
    this.#tokens += nodes.length * PAGE_TOKENS;
    const stored = Promise.all(nodes.map((node, i) => this.#store(node, copies[i]!)));
    host.trim();
    return { stored: stored.then(() => {}) };
  }

  async #store(node: PageNode, bytes: Uint8Array): Promise<void> {
    const { tree, storage, names } = this.#options;
    tree.keep(node, bytes);
    if (storage && names && !node.forgotten) await storage.write(names.of(node), names.before(node), bytes);
    this.#copying.delete(node);
    tree.keep(node, node.host); // the node may have lost its bytes since
  }
}
