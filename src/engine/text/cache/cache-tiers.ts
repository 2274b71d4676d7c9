// The prefix cache below the device: pages in host memory and in storage. New pages are copied out beside the steps; pages that a
// request may find in storage are fetched before it is admitted. A failure only means that a page is not found.

import type { PageStorage } from '../../platform/platform.ts';
import type { Runner } from '../step/text-runner.ts';
import type { PlacedSequence } from './placement.ts';
import { HostTier } from './host-tier.ts';
import { PageBackup } from './page-backup.ts';
import { PageFetch } from './page-fetch.ts';
import { PageNames } from './page-names.ts';
import type { SequencePages } from './sequence-pages.ts';

/** Tokens. */
export interface TierCounters {
  /** Copied from the device to the host. */
  backedUp: number;
  /** Read from storage. */
  fetched: number;
}

export interface TierOptions {
  pages: SequencePages;
  /** The current runner, whose pages these are. */
  runner: () => Runner;
  /** Most bytes in host memory. */
  hostBytes: number;
  storage: PageStorage | null;
  /** Least bytes of host memory for pages on their way to and from storage; default: 128 MiB, and at least two copies of states. */
  stagingBytes?: number;
}

const STAGING_BYTES = 2 ** 27;
/** Milliseconds that a request waits for the next page from storage. */
const STALL_TIME = 2000;
/** Milliseconds that `close` waits for pages on their way to storage. */
const CLOSE_TIME = 3000;

export class CacheTiers {
  readonly storage: PageStorage | null;
  readonly #host: HostTier;
  readonly #backup: PageBackup;
  readonly #fetch: PageFetch | null;
  #closed = false;

  constructor({ pages, runner, hostBytes, storage, ...options }: TierOptions) {
    const { stagingBytes = Math.max(STAGING_BYTES, 2 * runner().copyBytes) } = options;
    const { tree } = pages;
    const names = storage && new PageNames(storage);
    const host = new HostTier(tree, Math.max(hostBytes, storage ? stagingBytes : 0));
    const backup = new PageBackup({ tree, host, runner, storage, names });
    this.storage = storage;
    this.#host = host;
    this.#backup = backup;
    this.#fetch = storage && names && new PageFetch({ pages, host, runner, storage, names });
    tree.watch({
      kept: (cached, bytes) => host.count(cached, bytes),
      placed: (cached) => backup.add(cached),
      wants: (cached) => backup.wants(cached),
      leaving: (pages) => backup.copyNow(pages),
    });
  }

  get counters(): Readonly<TierCounters> {
    return { backedUp: this.#backup.tokens, fetched: this.#fetch?.tokens ?? 0 };
  }

  /** Bytes in host memory. */
  get host(): { used: number; total: number } {
    return { used: this.#host.used, total: this.#host.total };
  }

  /** Fetches what storage has of a prompt to the host and the device; resolves in any case, at a stall after STALL_TIME. */
  async fetch(sequence: PlacedSequence): Promise<void> {
    if (!this.#fetch || this.#closed) return;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stalled!: () => void;
    const stall = new Promise<void>((resolve) => (stalled = resolve));
    const wait = (): void => {
      clearTimeout(timer);
      if (!isOver) timer = setTimeout(stalled, STALL_TIME);
    };
    wait();
    const ends = (): boolean => isOver || this.#closed || sequence.finished;
    await Promise.race([this.#fetch.run(sequence, ends, wait).catch(() => {}), stall]);
    clearTimeout(timer);
    isOver = true;
  }

  /** Waits at most CLOSE_TIME for pending writes to storage, then closes it. */
  async close(): Promise<void> {
    this.#closed = true;
    // Without storage nothing outlives the model, so no copy is worth waiting for.
    const deadline = this.storage ? performance.now() + CLOSE_TIME : 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_TIME)));
    const written = this.#backup.close(deadline).then(() => this.storage?.close());
    // A write that hangs is not waited for.
    await Promise.race([written, late]).finally(() => clearTimeout(timer));
  }
}
