// Room for what is about to be stored: the browser's quota, and the models that are evicted for it.

import { bytesText } from '../bytes-text.ts';
import { EngineError } from '../error.ts';
import type { OriginStorage } from './storage.ts';
import type { StorageUse } from './use.ts';

export interface Evictable {
  /** Key of its use. */
  key: string;
  /** Lower ranks are evicted first. */
  rank: number;
  bytes: number;
  remove(): Promise<void>;
}

/** Packed weights can be computed again without the network, so they are evicted before downloaded files. */
export const PACKED_RANK = 0;
export const DOWNLOADED_RANK = 1;

export interface RoomRequest {
  /** Bytes. */
  need: number;
  /** Name of what is stored, for the error. */
  what: string;
  /** Key of what is stored, which is not evicted. */
  key: string;
  /** Highest rank that may be evicted. */
  rank: number;
}

export class StorageRoom {
  readonly #storage: OriginStorage;
  readonly #use: StorageUse;
  readonly #list: () => Promise<Evictable[]>;

  /** `list`: everything that may be evicted. */
  constructor(storage: OriginStorage, use: StorageUse, list: () => Promise<Evictable[]>) {
    this.#storage = storage;
    this.#use = use;
    this.#list = list;
  }

  /** Makes sure that `need` bytes fit, and evicts for it what was used longest ago. Nothing is evicted if that is not enough. */
  async make(request: RoomRequest): Promise<void> {
    const free = await this.#free();
    if (free >= request.need) return;
    const candidates = await this.#candidates(request);
    const most = candidates.reduce((sum, { bytes }) => sum + bytes, free);
    if (most < request.need) throw this.#error(request, most);
    let room = free;
    for (const { key, bytes, remove } of candidates) {
      if (room >= request.need) return;
      // A tab may have begun to use it since the list was made.
      if (!(await this.#use.whileUnused(key, remove))) continue;
      await this.#use.forget(key);
      room += bytes;
    }
    if (room < request.need) throw this.#error(request, room);
  }

  /**
   * Evicts one entry after the browser has refused a write; estimates of the room may be too large, since browsers hide how full a disk
   * is. Throws disk_full if there is nothing left to evict.
   */
  async makeMore(request: RoomRequest): Promise<void> {
    for (const { key, remove } of await this.#candidates(request)) {
      if (!(await this.#use.whileUnused(key, remove))) continue;
      return this.#use.forget(key);
    }
    throw this.fullError(request);
  }

  /** The error for a write that the browser refused. */
  fullError(request: RoomRequest): EngineError {
    return this.#error(request, 0);
  }

  /** Evictable entries in the order of eviction. */
  async #candidates({ key, rank }: RoomRequest): Promise<Evictable[]> {
    const [all, held, times] = await Promise.all([this.#list(), this.#use.held(), this.#use.times()]);
    const usedAt = (entry: Evictable): number => times.get(entry.key) ?? 0;
    return all
      .filter((entry) => entry.key !== key && entry.rank <= rank && !held.has(entry.key))
      .toSorted((a, b) => a.rank - b.rank || usedAt(a) - usedAt(b));
  }

  async #free(): Promise<number> {
    const { quota = Infinity, usage = 0 } = await this.#storage.estimate();
    return Math.max(0, quota - usage);
  }

  #error({ need, what }: RoomRequest, available: number): EngineError {
    return new EngineError(
      'disk_full',
      `${what} needs ${bytesText(need)} more in the browser's storage, where ${bytesText(available)} are left for this page: free space on the disk, remove stored models with removeModel, or close tabs that use them`,
    );
  }
}
