// KV pages as files, one per page, in a folder for all models. When the pages take too many bytes, the ends of chains are removed,
// least recently used first (page-chains.ts). A page is written under a temporary name and renamed when it is complete, so the
// process may end at any moment. A store counts the pages that it found when it was opened and those that it wrote: pages that
// another process writes meanwhile are seen by the next store that opens the folder.

import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { badRequest, codeOf } from '../error.ts';
import { isAlive } from '../disk/live-process.ts';
import { keptPages, type ChainedPage } from './page-chains.ts';
import type { PageStore } from './page-store.ts';
import { HEADER_BYTES, openSealed, pageBefore, sealPage } from './stored-page.ts';

interface StoredPage extends ChainedPage {
  /** Time (ms since 1970) at which its use was last recorded on disk. */
  recordedAt: number;
}

const PAGE = /^[0-9a-f]{64}\.page$/;
const UNFINISHED = /^[0-9a-f]{64}\.page\.(\d+)\.[0-9a-f]{8}\.tmp$/;
/** Share of the bytes that is kept when the store is full. */
const KEPT = 0.9;
/** Milliseconds between two records of a page's use. */
const RECORD_INTERVAL = 60_000;

/** Number of folders that are listed at a time. */
const LISTED = 8;

/** `most`: bytes. `onTrouble` is called once, at the first failure. Throws bad_request if the folder cannot be written. */
export async function openFileStore(
  folder: string,
  most: number,
  onTrouble: (message: string) => void,
): Promise<PageStore> {
  const root = resolve(folder);
  const pages = await prepare(root).catch((cause: unknown) => {
    throw badRequest(
      `the storage cache ${root} cannot be used (${codeOf(cause)}): give a folder that can be written`,
      'storageCache',
      cause,
    );
  });
  return new FileStore(root, most, pages, onTrouble);
}

class FileStore implements PageStore {
  readonly backend = 'file';
  readonly most: number;
  readonly #root: string;
  /** Least recently used first. */
  readonly #pages: Map<string, StoredPage>;
  readonly #onTrouble: (message: string) => void;
  readonly #writing = new Map<string, Promise<void>>();
  #used = 0;
  #trimming: Promise<void> | null = null;
  #hasTrouble = false;

  constructor(
    root: string,
    most: number,
    pages: Map<string, StoredPage>,
    onTrouble: (message: string) => void,
  ) {
    this.#root = root;
    this.most = most;
    this.#pages = pages;
    this.#onTrouble = onTrouble;
    for (const { bytes } of pages.values()) this.#used += bytes;
  }

  get used(): number {
    return this.#used;
  }

  async leading(keys: readonly string[]): Promise<number> {
    const missing = keys.findIndex((key) => !this.#pages.has(key));
    return missing < 0 ? keys.length : missing;
  }

  async read(key: string): Promise<Uint8Array | null> {
    if (!this.#pages.has(key)) return null;
    const sealed = await readFile(this.#fileOf(key)).catch(() => null);
    const bytes = sealed && openSealed(key, sealed);
    if (!bytes) await this.#remove(key);
    return bytes;
  }

  touch(keys: readonly string[]): void {
    // The last page is enough, because earlier pages are removed after it in any case.
    const key = keys.findLast((page) => this.#pages.has(page));
    if (key === undefined) return;
    const page = this.#pages.get(key)!;
    this.#pages.delete(key);
    this.#pages.set(key, page);
    const now = Date.now();
    if (now - page.recordedAt <= RECORD_INTERVAL) return;
    page.recordedAt = now;
    void utimes(this.#fileOf(key), now / 1000, now / 1000).catch(() => {});
  }

  async write(key: string, before: string | null, bytes: Uint8Array): Promise<void> {
    if (this.#pages.has(key) || bytes.length + HEADER_BYTES > this.most) return;
    let write = this.#writing.get(key);
    if (!write) {
      write = this.#put(key, before, bytes).finally(() => this.#writing.delete(key));
      this.#writing.set(key, write);
    }
    await write;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#writing.values(), this.#trimming]);
  }

  async #put(key: string, before: string | null, bytes: Uint8Array): Promise<void> {
    const file = this.#fileOf(key);
    const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
    try {
      await writeFile(temporary, sealPage(key, before, bytes), { flag: 'wx' });
      await rename(temporary, file);
    } catch (cause) {
      await rm(temporary, { force: true }).catch(() => {});
      return this.#reportOnce(cause);
    }
    const size = bytes.length + HEADER_BYTES;
    this.#pages.set(key, { before, bytes: size, recordedAt: Date.now() });
    this.#used += size;
    if (this.#used > this.most)
      await (this.#trimming ??= this.#trim().finally(() => (this.#trimming = null)));
  }

  async #trim(): Promise<void> {
    const kept = keptPages(this.#pages, KEPT * this.most, this.#writing);
    for (const key of [...this.#pages.keys()].filter((page) => !kept.has(page))) await this.#remove(key);
  }

  async #remove(key: string): Promise<void> {
    this.#used -= this.#pages.get(key)?.bytes ?? 0;
    this.#pages.delete(key);
    await rm(this.#fileOf(key), { force: true }).catch(() => {});
  }

  #fileOf(key: string): string {
    return join(this.#root, key.slice(0, 2), `${key}.page`);
  }

  #reportOnce(cause: unknown): void {
    if (this.#hasTrouble) return;
    this.#hasTrouble = true;
    this.#onTrouble(
      `the storage cache in ${this.#root} cannot be written (${codeOf(cause)}): what needs it is computed instead`,
    );
  }
}

/** Makes the folders, removes files that no store will read, and lists the pages, least recently used first. */
async function prepare(root: string): Promise<Map<string, StoredPage>> {
  const pages: [string, StoredPage][] = [];
  await makeFolder(root);
  const list = async (first: number): Promise<void> => {
    for (let i = first; i < 256; i += LISTED) {
      const folder = join(root, i.toString(16).padStart(2, '0'));
      await makeFolder(folder);
      for (const name of await readdir(folder)) {
        const writer = UNFINISHED.exec(name)?.[1];
        if (writer !== undefined && !isAlive(Number(writer))) await rm(join(folder, name), { force: true });
        const page = PAGE.test(name) && (await readHeader(join(folder, name), name.slice(0, 64)));
        if (page) pages.push([name.slice(0, 64), page]);
      }
    }
  };
  await Promise.all(Array.from({ length: LISTED }, (_, first) => list(first)));
  return new Map(pages.sort(([, a], [, b]) => a.recordedAt - b.recordedAt));
}

/** Reads a page's header; null: the file is not a page of this form, and is removed if it is a file. */
async function readHeader(file: string, key: string): Promise<StoredPage | null> {
  const handle = await open(file).catch(() => null);
  if (!handle) return null;
  try {
    const info = await handle.stat();
    if (!info.isFile()) return null;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const before = pageBefore(key, buffer.subarray(0, bytesRead));
    if (before !== undefined) return { before, bytes: info.size, recordedAt: info.mtimeMs };
  } catch {
    return null;
  } finally {
    await handle.close();
  }
  await rm(file, { force: true }).catch(() => {});
  return null;
}

/** Makes a folder level by level: Node's recursive mkdir never returns for a folder that accepts no subfolder, such as /proc. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    const parent = dirname(path);
    const isThere = await stat(parent).then(
      () => true,
      () => false,
    );
    if (codeOf(error) !== 'ENOENT' || isThere) throw error;
    await makeFolder(parent);
    await makeFolder(path);
  }
}
