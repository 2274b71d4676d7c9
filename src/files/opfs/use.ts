// Which stored models and packed weights are in use, by locks that all tabs of the origin see, and when each was used last. A browser
// releases the locks of a tab or worker that ends.

import { jsonObject } from '../source.ts';
import type { OriginStorage, PrivateFolder } from './storage.ts';

const RECORD = 'last-use.json';

export class StorageUse {
  readonly #locks: OriginStorage['locks'];
  readonly #folder: PrivateFolder;
  readonly #kept = new Set<string>();

  /** `folder`: the folder of the record. */
  constructor(storage: OriginStorage, folder: PrivateFolder) {
    this.#locks = storage.locks;
    this.#folder = folder;
  }

  /** Marks `key` as used now, and keeps it from being removed until the returned function is called, or the worker ends. */
  async hold(key: string): Promise<() => Promise<void>> {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let released: Promise<void> = ended;
    await new Promise<void>((granted, refuse) => {
      released = this.#locks.request(lockName(key), { mode: 'shared' }, () => {
        granted();
        return ended;
      });
      released.catch(refuse);
    });
    const release = (): Promise<void> => {
      end();
      return released;
    };
    try {
      await this.#note(key);
      return release;
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Holds `key` until the worker ends. */
  async keep(key: string): Promise<void> {
    if (this.#kept.has(key)) return;
    await this.hold(key);
    this.#kept.add(key);
  }

  /** Runs `action` if neither this nor another tab holds `key`; returns whether it ran. */
  async whileUnused(key: string, action: () => Promise<void>): Promise<boolean> {
    return this.#locks.request(lockName(key), { ifAvailable: true }, async (lock) => {
      if (lock === null) return false;
      await action();
      return true;
    });
  }

  /** Keys that a tab holds. */
  async held(): Promise<Set<string>> {
    const { held = [] } = await this.#locks.query();
    const names = held.map(({ name = '' }) => name).filter((name) => name.startsWith(PREFIX));
    return new Set(names.map((name) => name.slice(PREFIX.length)));
  }

  /** Milliseconds since 1970 of the last use, by key. */
  async times(): Promise<Map<string, number>> {
    // A damaged record costs the order in which models are evicted, nothing else.
    const record = jsonObject((await this.#folder.readText(RECORD)) ?? '') ?? {};
    return new Map(
      Object.entries(record).flatMap(([key, time]) =>
        typeof time === 'number' ? [[key, time] as const] : [],
      ),
    );
  }

  /** Removes a key from the record. */
  forget(key: string): Promise<void> {
    return this.#change((times) => times.delete(key));
  }

  #note(key: string): Promise<void> {
    return this.#change((times) => times.set(key, Date.now()));
  }

  #change(edit: (times: Map<string, number>) => void): Promise<void> {
    return this.#locks.request('svc-engine last use', async () => {
      const times = await this.times();
      edit(times);
      // A full storage must not keep a model from being opened.
      await this.#folder.writeText(RECORD, JSON.stringify(Object.fromEntries(times))).catch(() => {});
    });
  }
}

const PREFIX = 'svc-engine use ';
const lockName = (key: string): string => `${PREFIX}${key}`;
