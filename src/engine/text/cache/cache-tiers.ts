// The prefix cache beyond the device: pages in host memory and in storage. What is new on the device is copied out a few pages at
// a time, beside the steps; what a request may find in storage is fetched before it is let in, to the device where it has pages
// to spare. Whatever fails here is a page less to be found.

import { PAGE_TOKENS } from '../../../kernels/batch.ts';
import type { PageStorage } from '../../platform.ts';
import { leastRecent, type PageNode } from './prefix-tree.ts';
import type { Runner } from '../step/runner.ts';
import type { Sequence } from '../sequence.ts';
import { keysOf, findablePages, type SequencePages } from './sequence-pages.ts';

export interface CacheTiers {
  readonly counters: Readonly<TierCounters>;
  readonly storage: PageStorage | null;
  readonly host: { used: number; total: number };
  /** Brings what storage has of a prompt to the host and the device; resolves in any case. */
  fetch(sequence: Sequence): Promise<void>;
  close(): Promise<void>;
}

/** Tokens. */
export interface TierCounters {
  /** From the device to the host. */
  backedUp: number;
  /** From storage. */
  fetched: number;
}

export interface TierOptions {
  pages: SequencePages;
  /** The one whose pages these are. */
  runner: () => Runner;
  /** Bytes in host memory. */
  hostBytes: number;
  storage: PageStorage | null;
  /** Room in host memory for what comes from storage and goes there, where the host keeps less; left out: 128 MiB. */
  stagingBytes?: number;
}

/** Bytes copied out at a time. */
const COPY_BYTES = 2 ** 23;
const STAGING_BYTES = 2 ** 27;
/** Bytes on their way out beyond which pages that are needed at once go without being copied. */
const LATE_BYTES = 2 ** 26;
/** Pages read from storage at a time. */
const READS = 8;
/** Milliseconds that a request waits for storage to bring the next pages. */
const STALL_TIME = 2000;
/** Milliseconds that closing waits for pages on their way to storage. */
const CLOSE_TIME = 3000;
/** Share of the host's bytes that stays when they are too many. */
const KEPT = 0.97;

export function createCacheTiers({
  pages,
  runner,
  hostBytes,
  storage,
  stagingBytes = STAGING_BYTES,
}: TierOptions): CacheTiers {
  const { tree } = pages;
  const total = Math.max(hostBytes, storage ? stagingBytes : 0);
  const counters = { backedUp: 0, fetched: 0 };
  const onHost = new Set<PageNode>();
  const names = new WeakMap<PageNode, string>();
  /** On the device only, in the order they came. */
  const fresh = new Set<PageNode>();
  /** On their way to the host and to storage. */
  const leaving = new Set<PageNode>();
  const reading = new Map<string, Promise<Uint8Array | null>>();
  let used = 0;
  let copying: Promise<void> | null = null;
  /** Of pages whose places were needed at once. */
  const lateCopies = new Set<Promise<void>>();
  /** When copying out ends, at the latest. */
  let deadline = Infinity;

  tree.watch({
    kept(node, bytes) {
      used += bytes;
      if (node.host) onHost.add(node);
      else onHost.delete(node);
    },
    placed(node) {
      if (node.host || total < runner().pageBytes || isClosed()) return;
      fresh.add(node);
      // After the step that is just being planned.
      copying ??= Promise.resolve().then(copyOut);
    },
    wants: (node) => fresh.has(node) || leaving.has(node),
    leaving(nodes) {
      const late = nodes.filter((node) => fresh.delete(node));
      if (late.length === 0 || leaving.size * runner().pageBytes > LATE_BYTES) return;
      // The copy is ahead of whatever the pages are for next.
      const copied = copy(late)
        .then(({ stored }) => stored)
        .finally(() => lateCopies.delete(copied));
      lateCopies.add(copied);
    },
  });

  const isClosed = (): boolean => deadline < Infinity;

  const nameOf = (node: PageNode): string => {
    let name = names.get(node);
    if (name === undefined) {
      name = storage!.name(node.parent && nameOf(node.parent), node.scope, node.key);
      names.set(node, name);
    }
    return name;
  };

  const trim = (): void => {
    if (used <= total) return;
    for (const node of leastRecent([...onHost])) {
      if (used <= KEPT * total) return;
      if (!node.loading) tree.keep(node, null);
    }
  };

  /** The next pages that are still there to be copied. */
  const takeFresh = (): PageNode[] => {
    const most = Math.max(1, Math.floor(COPY_BYTES / runner().pageBytes));
    const taken: PageNode[] = [];
    for (const node of fresh) {
      if (taken.length === most) break;
      fresh.delete(node);
      if (node.page !== null && !node.host && !node.forgotten) taken.push(node);
      else tree.keep(node, node.host); // where it has no bytes any more, it need not stay
    }
    return taken;
  };

  /** To the host; `stored` resolves when they are in storage, too. */
  const copy = async (nodes: readonly PageNode[]): Promise<{ stored: Promise<void> }> => {
    for (const node of nodes) leaving.add(node);
    const copies = await runner()
      .readPages(nodes.map(({ page }) => page!))
      .catch(() => null); // the device is lost, and they with it
    const store = async (node: PageNode, bytes: Uint8Array): Promise<void> => {
      tree.keep(node, bytes);
      if (storage && !node.forgotten)
        await storage.write(nameOf(node), node.parent && nameOf(node.parent), bytes);
      leaving.delete(node);
      tree.keep(node, node.host); // it may have lost its bytes since
    };
    if (!copies) {
      for (const node of nodes) leaving.delete(node);
      for (const node of nodes) tree.keep(node, node.host);
      return { stored: Promise.resolve() };
    }
    counters.backedUp += nodes.length * PAGE_TOKENS;
    const stored = Promise.all(nodes.map((node, i) => store(node, copies[i]!)));
    trim();
    return { stored: stored.then(() => {}) };
  };

  const copyOut = async (): Promise<void> => {
    let stored = Promise.resolve();
    for (let nodes = takeFresh(); nodes.length > 0 && performance.now() < deadline; nodes = takeFresh()) {
      const copied = await copy(nodes);
      await stored; // a slow store holds up the copies, not the steps
      stored = copied.stored;
    }
    copying = null;
    await stored;
  };

  const readPage = (name: string): Promise<Uint8Array | null> => {
    let page = reading.get(name);
    if (!page) {
      page = storage!.read(name).finally(() => reading.delete(name));
      reading.set(name, page);
    }
    return page;
  };

  const fetchPages = async (
    sequence: Sequence,
    isOver: () => boolean,
    onProgress: () => void,
  ): Promise<void> => {
    const { scope } = sequence.placement.prefix;
    const most = findablePages(sequence);
    const keys = keysOf(sequence, most);
    const all = tree.find(scope, keys, most).map(nameOf);
    const first = all.length;
    for (const key of keys.slice(first, most)) all.push(storage!.name(all.at(-1) ?? null, scope, key));
    let end = first < most ? first + (await storage!.leading(all.slice(first))) : first;
    storage!.touch(all.slice(0, end));
    /** Pages that may wait on the host until the sequence is let in. */
    let room = Math.floor(total / 2 / runner().pageBytes);
    sequence.placement.prefix.fetched = [first, first];
    for (let at = first; at < end; at += READS) {
      const reads = all.slice(at, Math.min(at + READS, end)).map(readPage);
      for (const page of reads) void page.then(onProgress, () => {});
      const read = await Promise.all(reads);
      const path = tree.find(scope, keys, at);
      if (path.length < at || isOver()) return;
      for (const bytes of read) {
        if (bytes?.length !== runner().pageBytes) return;
        const node = tree.child(scope, path.at(-1) ?? null, keys[path.length]!);
        if (!node.host && node.page === null) {
          tree.keep(node, bytes);
          names.set(node, all[path.length]!);
          counters.fetched += PAGE_TOKENS;
        }
        tree.touch(node);
        path.push(node);
        sequence.placement.prefix.fetched[1]++;
        if (!bring(path) && --room <= 0) end = path.length;
        trim();
        if (path.length === end) return;
      }
    }
  };

  /** Writes the last node of a path to the device, unless it is there or all pages are in use. */
  const bring = (path: readonly PageNode[]): boolean => {
    const { page, host } = path.at(-1)!;
    if (page !== null) return true;
    if (!host || runner().device.isLost || !pages.bring(path)) return false;
    runner().pageCleaner.ahead(pages.pool.touched);
    runner().movePages({ copies: [], loads: [{ page: path.at(-1)!.page!, bytes: host }] });
    return true;
  };

  return {
    counters,
    storage,
    get host() {
      return { used, total };
    },
    async fetch(sequence) {
      if (!storage || isClosed()) return;
      let isOver = false;
      let timer: ReturnType<typeof setTimeout> | undefined;
      let stalled!: () => void;
      const stall = new Promise<void>((resolve) => (stalled = resolve));
      const wait = (): void => {
        clearTimeout(timer);
        if (!isOver) timer = setTimeout(stalled, STALL_TIME);
      };
      wait();
      const ends = (): boolean => isOver || isClosed() || sequence.finished;
      await Promise.race([fetchPages(sequence, ends, wait).catch(() => {}), stall]);
      clearTimeout(timer);
      isOver = true;
    },
    async close() {
      // What is not stored yet is of use to the next start only.
      deadline = storage ? performance.now() + CLOSE_TIME : 0;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_TIME)));
      const written = Promise.all([copying, ...lateCopies]).then(() => storage?.close());
      // A write may hang: it is left to itself.
      await Promise.race([written, late]).finally(() => clearTimeout(timer));
    },
  };
}
