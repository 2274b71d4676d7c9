// The storage of a page's origin: folders of its private file system, locks over all its tabs, and the browser's estimate of the space.

import { reasonOf, unsupported } from '../error.ts';

/** The storage as the browser offers it; a test may pass another. */
export interface OriginStorage {
  root(): Promise<FileSystemDirectoryHandle>;
  locks: Pick<LockManager, 'request' | 'query'>;
  estimate(): Promise<StorageEstimate>;
}

/** The storage of the page that runs this code, in the page or in a worker. */
export function originStorage(): OriginStorage {
  const { storage, locks } = navigator;
  return { root: () => storage.getDirectory(), locks, estimate: () => storage.estimate() };
}

/** A file that a worker reads and writes in place; at most one handle of a file is open. */
export interface AccessHandle {
  read(target: Uint8Array<ArrayBuffer>, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  getSize(): number;
  flush(): void;
  close(): void;
}

/** Methods of file handles that TypeScript's library for pages does not declare. */
interface PrivateFileHandle extends FileSystemFileHandle {
  /** Only in workers. A read-only handle excludes writers, but no other reader. */
  createSyncAccessHandle(options?: { mode: 'read-only' }): Promise<AccessHandle>;
  move(name: string): Promise<void>;
}

/** A folder of the private file system. It need not exist; writing creates it. */
export class PrivateFolder {
  readonly #storage: OriginStorage;
  readonly #path: readonly string[];

  constructor(storage: OriginStorage, path: readonly string[]) {
    this.#storage = storage;
    this.#path = path;
  }

  folder(...names: string[]): PrivateFolder {
    return new PrivateFolder(this.#storage, [...this.#path, ...names]);
  }

  /** Names of the folders and files inside; empty if the folder does not exist. */
  async entries(): Promise<{ name: string; kind: 'file' | 'directory' }[]> {
    const entries: { name: string; kind: 'file' | 'directory' }[] = [];
    const handle = await this.#handle(false);
    if (handle === null) return entries;
    for await (const [name, { kind }] of handle.entries()) entries.push({ name, kind });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The file of that name as it is now; null: there is none. */
  async file(name: string): Promise<File | null> {
    const folder = await this.#handle(false);
    const handle = folder && (await unlessMissing(folder.getFileHandle(name)));
    return handle && unlessMissing(handle.getFile());
  }

  async size(name: string): Promise<number | null> {
    return (await this.file(name))?.size ?? null;
  }

  async readText(name: string): Promise<string | null> {
    return (await this.file(name))?.text() ?? null;
  }

  /** Writes a file; its content changes at once, when everything is written. */
  async writeText(name: string, text: string): Promise<void> {
    const folder = await this.#handle(true);
    const handle = await folder!.getFileHandle(name, { create: true });
    const stream = await handle.createWritable();
    try {
      await stream.write(text);
      await stream.close();
    } catch (error) {
      await stream.abort().catch(() => {});
      throw error;
    }
  }

  /** Opens a file for reading and writing in place, and creates it if necessary. */
  async access(name: string): Promise<AccessHandle> {
    const folder = await this.#handle(true);
    const handle = await folder!.getFileHandle(name, { create: true });
    return (handle as PrivateFileHandle).createSyncAccessHandle();
  }

  /**
   * Opens a file for reading in place. Returns null if it is missing or being written, in pages, and where the browser lets one reader do
   * so only: Chromium lets several.
   */
  async reader(name: string): Promise<AccessHandle | null> {
    const { FileSystemSyncAccessHandle: type } = globalThis as { FileSystemSyncAccessHandle?: Function };
    if (type === undefined || !('mode' in (type.prototype as object))) return null;
    const folder = await this.#handle(false);
    const handle = folder && (await unlessMissing(folder.getFileHandle(name)));
    return (
      handle && (handle as PrivateFileHandle).createSyncAccessHandle({ mode: 'read-only' }).catch(() => null)
    );
  }

  /** Renames a file; a file of the new name is replaced. */
  async rename(from: string, to: string): Promise<void> {
    const folder = await this.#handle(true);
    const handle = await folder!.getFileHandle(from);
    await this.remove(to);
    await (handle as PrivateFileHandle).move(to);
  }

  /** Removes a file, or a folder with everything in it, if there is one. */
  async remove(name: string): Promise<void> {
    const folder = await this.#handle(false);
    if (folder !== null) await unlessMissing(folder.removeEntry(name, { recursive: true }));
  }

  /** Bytes of all files below the folder. */
  async bytes(): Promise<number> {
    let bytes = 0;
    for (const { name, kind } of await this.entries())
      bytes += kind === 'file' ? ((await this.size(name)) ?? 0) : await this.folder(name).bytes();
    return bytes;
  }

  async #handle(create: boolean): Promise<FileSystemDirectoryHandle | null> {
    let handle: FileSystemDirectoryHandle | null = await this.#storage.root().catch((cause: unknown) => {
      throw unsupported(
        `the browser gives this page no private file system (${reasonOf(cause)}): leave private browsing, or pass the files of the model`,
        undefined,
        cause,
      );
    });
    for (const name of this.#path) {
      handle = await unlessMissing(handle.getDirectoryHandle(name, { create }));
      if (handle === null) return null;
    }
    return handle;
  }
}

export const isQuotaError = (error: unknown): boolean =>
  error instanceof Error && error.name === 'QuotaExceededError';

/** Resolves to null for an entry that does not exist, or is of the other kind. */
async function unlessMissing<Value>(work: Promise<Value>): Promise<Value | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && /^(NotFoundError|TypeMismatchError)$/.test(error.name)) return null;
    throw error;
  }
}
