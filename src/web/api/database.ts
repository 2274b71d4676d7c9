// Stores of the browser's IndexedDB, with promises.

export interface Store<T> {
  get(key: string): Promise<T | undefined>;
  all(): Promise<T[]>;
  put(value: T): Promise<void>;
  delete(key: string): Promise<void>;
}

/** Opens a database whose stores have values with a member `id`, the key. Throws where the browser refuses storage. */
export function openDatabase(name: string, stores: readonly string[], version = 1): Promise<IDBDatabase> {
  const opening = indexedDB.open(name, version);
  opening.onupgradeneeded = () => {
    for (const store of stores)
      if (!opening.result.objectStoreNames.contains(store))
        opening.result.createObjectStore(store, { keyPath: 'id' });
  };
  return settled(opening);
}

export function storeOf<T>(database: Promise<IDBDatabase>, name: string): Store<T> {
  const run = async <R>(
    mode: IDBTransactionMode,
    ask: (store: IDBObjectStore) => IDBRequest<R>,
  ): Promise<R> => settled(ask((await database).transaction(name, mode).objectStore(name)));
  return {
    get: (key) => run('readonly', (store) => store.get(key) as IDBRequest<T | undefined>),
    all: () => run('readonly', (store) => store.getAll() as IDBRequest<T[]>),
    put: async (value) => void (await run('readwrite', (store) => store.put(value))),
    delete: (key) => run('readwrite', (store) => store.delete(key)),
  };
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the browser refused the storage'));
  });
}
