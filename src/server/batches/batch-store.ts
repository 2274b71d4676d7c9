// The batches of a server, beside the files that they read and write. Those of --output-path are there again when a later server starts, and go on.

import { readFile } from 'node:fs/promises';
import { RequestError } from '../http/errors.ts';
import { type FileStore, fileStoreOf } from '../files/file-store.ts';
import { isOwn } from '../service/caller.ts';
import type { Service } from '../service/service.ts';
import { type BatchRecord, batchRecord } from './batch-reply-schema.ts';

const RECORD = /^batch_[\da-f-]{36}\.json$/;
const MOST_BATCHES = 1000;
/** Batches that run at once; others wait. */
const MOST_RUNNING = 4;

/** The reason of aborts by a server that ends. */
export const INTERRUPTED = 'the server ends';

export interface Batch {
  record: BatchRecord;
  /** Ends what runs of it; null: it has ended. */
  abort: AbortController | null;
}

const stores = new WeakMap<Service, Promise<BatchStore>>();

export function batchStoreOf(service: Service): Promise<BatchStore> {
  const known = stores.get(service);
  if (known) return known;
  const made = fileStoreOf(service).then(async (files) => {
    const store = new BatchStore(files);
    await store.load((name, reason) => service.log.warn(`${name} is left out of /v1/batches: ${reason}`));
    // Before the files end.
    service.closing.unshift(() => store.stop());
    return store;
  });
  stores.set(service, made);
  made.catch(() => stores.delete(service));
  return made;
}

export class BatchStore {
  readonly files: FileStore;
  /** By id, in the order of their creation. */
  readonly #batches = new Map<string, Batch>();
  readonly #running = new Set<Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #places = MOST_RUNNING;

  constructor(files: FileStore) {
    this.files = files;
  }

  async load(leaveOut: (name: string, reason: string) => void): Promise<void> {
    const { folder } = this.files;
    const found: BatchRecord[] = [];
    for (const name of (await folder.names()).filter((one) => RECORD.test(one))) {
      try {
        found.push(batchRecord.parse(JSON.parse(await readFile(folder.at(name), 'utf8'))));
      } catch (error) {
        leaveOut(folder.at(name), error instanceof Error ? error.message : String(error));
      }
    }
    for (const record of found.toSorted((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)))
      this.#batches.set(record.id, { record, abort: null });
  }

  /** Throws RequestError where too many are kept. */
  async add(batch: Batch): Promise<void> {
    if (this.#batches.size >= MOST_BATCHES) await this.#dropOldest();
    await this.save(batch.record);
    this.#batches.set(batch.record.id, batch);
  }

  async save(record: BatchRecord): Promise<void> {
    await this.files.folder.save(`${record.id}.json`, JSON.stringify(record));
  }

  /** A batch of the caller; null: it has none of that id. */
  find(id: string): Batch | null {
    const found = this.#batches.get(id);
    return found && isOwn(found.record.owner) ? found : null;
  }

  /** Batches of the caller, the oldest first. */
  all(): Batch[] {
    return [...this.#batches.values()].filter(({ record }) => isOwn(record.owner));
  }

  /** Batches that an earlier server left before their end. */
  unfinished(): Batch[] {
    return [...this.#batches.values()].filter(({ record, abort }) => abort === null && isUnfinished(record));
  }

  /** Runs a batch when few others run. */
  run(start: () => Promise<void>): void {
    const running = this.#place(start).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #place(start: () => Promise<void>): Promise<void> {
    while (this.#places === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#places -= 1;
    try {
      await start();
    } finally {
      this.#places += 1;
      this.#waiting.shift()?.();
    }
  }

  /** Interrupts what runs; a later server goes on with it if the batches are kept. */
  async stop(): Promise<void> {
    for (const { abort } of this.#batches.values()) abort?.abort(INTERRUPTED);
    await Promise.all(this.#running);
  }

  /** Forgets the record of the oldest batch that has ended; its files stay. */
  async #dropOldest(): Promise<void> {
    const oldest = [...this.#batches.values()].find(({ record }) => !isUnfinished(record));
    if (!oldest)
      throw new RequestError(
        'overloaded',
        `${MOST_BATCHES} batches run or wait already; cancel some, or wait until one has ended`,
      );
    this.#batches.delete(oldest.record.id);
    await this.files.folder.remove(`${oldest.record.id}.json`);
  }
}

export const isUnfinished = ({ status }: BatchRecord): boolean =>
  status === 'validating' || status === 'in_progress' || status === 'finalizing' || status === 'cancelling';
