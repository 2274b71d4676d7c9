// The prefix cache beyond the device: pages in host memory and in storage. What is new on the device is copied out a few pages at
// a time, beside the steps; what a request may find in storage is fetched before it is let in. Whatever fails here is a page less
// to be found.

import { PAGE_TOKENS } from '../../kernels/batch.ts';
import type { PageStorage } from '../platform.ts';
import { leastRecent, type PageNode } from './prefix-tree.ts';
import type { Runner } from './runner.ts';
import type { Sequence } from './sequence.ts';
import { keysOf, findablePages, type SequencePages } from './sequence-pages.ts';

export interface CacheTiers {
  readonly counters: Readonly<TierCounters>;
  readonly storage: PageStorage | null;
  readonly host: { used: number; total: number };
  /** Brings what storage has of a prompt to the host; resolves in any case. */
  fetch(sequence: Sequence): Promise<void>;
  close(): Promise<void>;
}

/** Tokens. */
export interface TierCounters {
  /** From the device to the host. */
  backedUp: number;
  /** From storage to the host. */
  fetched: number;
}

export interface TierOptions {
  pages: SequencePages;
  /** The one whose pages these are. */
  runner: () => Runner;
  /** Bytes in host memory. */
  hostBytes: number;
  storage: PageStorage | null;
}

/** Bytes copied out at a time. */
const COPY_BYTES = 2 ** 23;
/** Room in host memory for what comes from storage and goes there, where the host keeps less. */
const STAGING_BYTES = 2 ** 27;
/** Pages read from storage at a time. */
const READS = 8;
/** Milliseconds that a request waits for storage to bring the next pages. */
const STALL_TIME = 2000;
/** Milliseconds that closing waits for pages on their way to storage. */
const CLOSE_TIME = 3000;
/** Share of the host's bytes that stays when they are too many. */
const KEPT = 0.97;

export function createCacheTiers({ pages, runner, hostBytes, storage }: TierOptions): CacheTiers {
  const { tree } = pages;
  const total = Math.max(hostBytes, storage ? STAGING_BYTES : 0);
  const counters = { backedUp: 0, fetched: 0 };
  const onHost = new Set<PageNode>();
  const names = new WeakMap<PageNode, string>();
  /** On the device only, in the order they came. */
  const fresh = new Set<PageNode>();
  const reading = new Map<string, Promise<Uint8Array | null>>();
  let used = 0;
  let copying: Promise<void> | null = null;
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
      fresh.delete(node);
      if (node.page !== null && !node.host && !node.forgotten) taken.push(node);
      if (taken.length === most) break;
    }
    return taken;
  };

  const copyOut = async (): Promise<void> => {
    let stored: Promise<unknown> = Promise.resolve();
    for (let nodes = takeFresh(); nodes.length > 0 && performance.now() < deadline; nodes = takeFresh()) {
      const copies = await runner()
        .readPages(nodes.map(({ page }) => page!))
        .catch(() => null); // the device is lost, and they with it
      if (!copies) continue;
      const kept = nodes
        .map((node, i) => ({ node, bytes: copies[i]! }))
        .filter(({ node }) => !node.forgotten);
      for (const { node, bytes } of kept) tree.keep(node, bytes);
      counters.backedUp += kept.length * PAGE_TOKENS;
      trim();
      if (!storage) continue;
      await stored; // a slow store holds up the copies, not the steps
      stored = Promise.all(kept.map(({ node, bytes }) => storage.write(nameOf(node), bytes)));
    }
    copying = null;
    await stored;
  };

  const read = (name: string): Promise<Uint8Array | null> => {
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
    const { scope } = sequence.prefix;
    const most = findablePages(sequence);
    const keys = keysOf(sequence, most);
    const first = tree.find(scope, keys, most).length;
    if (first === most) return;
    const all: string[] = [];
    for (const key of keys.slice(0, most)) all.push(storage!.name(all.at(-1) ?? null, scope, key));
    const room = Math.floor(total / 2 / runner().pageBytes);
    const end = first + Math.min(room, await storage!.leading(all.slice(first)));
    sequence.prefix.fetched = [first, first];
    for (let at = first; at < end; at += READS) {
      const pages = await Promise.all(all.slice(at, Math.min(at + READS, end)).map(read));
      onProgress();
      for (const bytes of pages) {
        const next = sequence.prefix.fetched[1];
        const path = tree.find(scope, keys, next);
        if (bytes?.length !== runner().pageBytes || path.length < next || isOver()) return;
        const node = tree.child(scope, path.at(-1) ?? null, keys[next]!);
        if (!node.host && node.page === null) {
          tree.keep(node, bytes);
          names.set(node, all[next]!);
          counters.fetched += PAGE_TOKENS;
        }
        tree.touch(node);
        sequence.prefix.fetched[1]++;
      }
      trim();
    }
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
      await copying;
      await storage?.close();
    },
  };
}
