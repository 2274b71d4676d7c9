// Prepared media by key. Those of recent requests are kept, and one that several requests ask for at once is prepared once.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { Clip, RgbaPixels, Sound } from '../../../files/media/decoded.ts';
import { LruCache } from '../../../grammar/bounds/lru-cache.ts';
import { cancelled, unlessAborted } from '../../async/abort-listeners.ts';
import type { MediaKind, TileLimits } from '../../../models/media.ts';
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

type Given = Uint8Array | Pixels | RgbaPixels | Clip | Sound;

/** A hash of what was given, so that equal media are known wherever they came from. */
export async function mediumKey(kind: MediaKind, given: Given, limits: TileLimits): Promise<string> {
  const { head, bytes } = piecesOf(given);
  const own = await Promise.all(bytes.map(sha256));
  const form = JSON.stringify([kind, head, limits.minTiles ?? null, limits.maxTiles ?? null, own]);
  return sha256(new TextEncoder().encode(form));
}

/** The bytes of a medium, and its other values. */
function piecesOf(given: Given): { head: unknown; bytes: readonly Uint8Array[] } {
  if (given instanceof Uint8Array) return { head: null, bytes: [given] };
  if ('frames' in given) {
    const sizes = given.frames.map(({ width, height }) => [width, height]);
    return { head: [given.source, given.indices, sizes], bytes: given.frames.map(({ data }) => data) };
  }
  if ('samples' in given) {
    const { buffer, byteOffset, byteLength } = given.samples;
    return { head: given.rate, bytes: [new Uint8Array(buffer, byteOffset, byteLength)] };
  }
  const { buffer, byteOffset, byteLength } = given.data;
  return { head: [given.width, given.height], bytes: [new Uint8Array(buffer, byteOffset, byteLength)] };
}

async function sha256(bytes: Uint8Array): Promise<string> {
  // Shared memory is not hashed in place.
  const own = bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : bytes.slice();
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', own));
  return [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
