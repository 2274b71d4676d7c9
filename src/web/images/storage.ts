// What the browser keeps: the gallery, and the requests that were running when the page was left.

import type { Configuration, Sources } from './configuration.ts';

export interface Entry {
  id: string;
  kind: 'image' | 'video';
  /** Milliseconds since 1970. */
  createdAt: number;
  content: Blob;
  seed: number;
  /** WIDTHxHEIGHT. */
  size: string;
  /** As it was asked for, with the seed that was used. */
  configuration: Configuration;
  sources: Sources;
}

export interface Running {
  /** Id of the request. */
  id: string;
  kind: 'image' | 'video';
  startedAt: number;
  configuration: Configuration;
  sources: Sources;
  /** The server's id of a video. */
  video?: string;
  /** Indices of the images that are in the gallery, and the number of the event that brought the last one. */
  done?: number[];
  lastEvent?: number;
}

interface Stores {
  gallery: Entry;
  running: Running;
}

let opening: Promise<IDBDatabase> | null = null;

function open(): Promise<IDBDatabase> {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('svc-images', 1);
    request.addEventListener('upgradeneeded', () => {
      for (const store of ['gallery', 'running']) request.result.createObjectStore(store, { keyPath: 'id' });
    });
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error!));
  });
  return opening;
}

async function run<T>(
  store: keyof Stores,
  mode: IDBTransactionMode,
  ask: (objects: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const transaction = (await open()).transaction(store, mode);
  const request = ask(transaction.objectStore(store));
  return new Promise((resolve, reject) => {
    transaction.addEventListener('complete', () => resolve(request.result));
    transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('nothing was stored')));
  });
}

export const readAll = <S extends keyof Stores>(store: S): Promise<Stores[S][]> =>
  run(store, 'readonly', (objects) => objects.getAll() as IDBRequest<Stores[S][]>);

/** Resolves once the value is on disk. Rejects where the browser's storage is full. */
export async function keep<S extends keyof Stores>(store: S, value: Stores[S]): Promise<void> {
  await run(store, 'readwrite', (objects) => objects.put(value));
}

export async function remove(store: keyof Stores, id: string): Promise<void> {
  await run(store, 'readwrite', (objects) => objects.delete(id));
}
