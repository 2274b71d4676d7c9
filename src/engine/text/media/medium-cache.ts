// Prepared media by key. Those of recent requests are kept, and one that several requests ask for at once is prepared once.

import { LruCache } from '../../../grammar/bounds/lru-cache.ts';
import { unlessAborted } from '../../async/abort-listeners.ts';
import { cancelled } from './decode-within.ts';
import { bytesOf, type Medium } from '../towers/medium.ts';

/** Bytes of the prepared media that are kept. */
const KEPT_BYTES = 2 ** 28;

interface Pending {
  made: Promise<Medium>;
  /** Number of requests that wait. */
  waiting: number;
  abandoned: AbortController;
}

export class MediumCache {
  readonly #known = new LruCache<string, Medium>({ maxSize: KEPT_BYTES, sizeOf: bytesOf });
  readonly #pending = new Map<string, Pending>();

  /**
   * Returns the medium of a key, which `prepare` makes where it is not known; its signal aborts when no request waits any more. Throws what
   * it throws, and cancelled at once where `signal` aborts.
   */
  async get(
    key: string,
    signal: AbortSignal | undefined,
    prepare: (abandoned: AbortSignal) => Promise<Medium>,
  ): Promise<Medium> {
    const known = this.#known.get(key);
    if (known) return known;
    const pending = this.#pending.get(key) ?? this.#begin(key, prepare);
    pending.waiting++;
    try {
      return await unlessAborted(() => pending.made, signal, cancelled);
    } finally {
      if (--pending.waiting === 0 && this.#pending.get(key) === pending) {
        this.#pending.delete(key);
        pending.abandoned.abort(cancelled());
      }
    }
  }

  #begin(key: string, prepare: (abandoned: AbortSignal) => Promise<Medium>): Pending {
    const abandoned = new AbortController();
    const settle = (): void => {
      if (this.#pending.get(key) === pending) this.#pending.delete(key);
    };
    const made = prepare(abandoned.signal).then((medium) => {
      if (!abandoned.signal.aborted) this.#known.set(key, medium);
      return medium;
    });
    const pending: Pending = { made, waiting: 0, abandoned };
    made.then(settle, settle);
    this.#pending.set(key, pending);
    return pending;
  }
}
