// KV pages as files, one each, in a folder for all models. When there are too many bytes, ends of chains go, the least recently
// used first (page-chains.ts). A page is written under another name and takes its own when it is whole, so that a process may
// end at any moment. Each store counts the pages that it found and its own: what another writes to the folder meanwhile it sees when
// it is opened next.

import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { EngineError } from '../error.ts';
import { isAlive } from '../live-process.ts';
import { keptPages, type ChainedPage } from './page-chains.ts';
import { HEADER_BYTES, openSealed, pageBefore, sealPage, type PageStore } from './page-store.ts';

interface Held extends ChainedPage {
  /** When its use was last noted on disk. */
  notedAt: number;
}

const PAGE = /^[0-9a-f]{64}\.page$/;
const UNFINISHED = /^[0-9a-f]{64}\.page\.(\d+)\.[0-9a-f]{8}\.tmp$/;
/** Share that stays when it is full. */
const KEPT = 0.9;
/** Milliseconds after which another use is noted on disk. */
const NOTED_EVERY = 60_000;

/** Folders that are listed at a time. */
const LISTED = 8;

/** Throws where the folder cannot be written. */
export async function openFileStore(
  folder: string,
  most: number,
  onTrouble: (message: string) => void,
): Promise<PageStore> {
  const root = resolve(folder);
  /** In the order of their use. */
  let held = new Map<string, Held>();
  const writing = new Map<string, Promise<void>>();
  let used = 0;
  let trimming: Promise<void> | null = null;
  let hasTrouble = false;
  const fileOf = (key: string): string => join(root, key.slice(0, 2), `${key}.page`);

  const trouble = (what: string, cause: unknown): void => {
    if (hasTrouble) return;
    hasTrouble = true;
    onTrouble(
      `the storage cache in ${root} cannot be ${what} (${codeOf(cause)}): what needs it is computed instead`,
    );
  };

  const forget = (key: string): void => {
    used -= held.get(key)?.bytes ?? 0;
    held.delete(key);
  };

  const remove = async (key: string): Promise<void> => {
    forget(key);
    await rm(fileOf(key), { force: true }).catch(() => {});
  };

  const trim = async (): Promise<void> => {
    const kept = keptPages(held, KEPT * most, writing);
    for (const key of [...held.keys()].filter((page) => !kept.has(page))) await remove(key);
  };

  const put = async (key: string, before: string | null, bytes: Uint8Array): Promise<void> => {
    const file = fileOf(key);
    const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
    try {
      await writeFile(temporary, sealPage(key, before, bytes), { flag: 'wx' });
      await rename(temporary, file);
    } catch (cause) {
      await rm(temporary, { force: true }).catch(() => {});
      return trouble('written', cause);
    }
    held.set(key, { before, bytes: bytes.length + HEADER_BYTES, notedAt: Date.now() });
    used += bytes.length + HEADER_BYTES;
    if (used > most) await (trimming ??= trim().finally(() => (trimming = null)));
  };

  held = await prepare(root).catch((cause: unknown) => {
    throw new EngineError(
      'bad_request',
      `the storage cache ${root} cannot be used (${codeOf(cause)}): give a folder that can be written`,
      { param: 'storageCache', cause },
    );
  });
  for (const { bytes } of held.values()) used += bytes;

  return {
    backend: 'file',
    get used() {
      return used;
    },
    most,
    async leading(keys) {
      const missing = keys.findIndex((key) => !held.has(key));
      return missing < 0 ? keys.length : missing;
    },
    async read(key) {
      if (!held.has(key)) return null;
      const sealed = await readFile(fileOf(key)).catch(() => null);
      const bytes = sealed && openSealed(key, sealed);
      if (!bytes) {
        await remove(key);
        return null;
      }
      return bytes;
    },
    touch(keys) {
      // Those before it go after it in any case.
      const key = keys.findLast((page) => held.has(page));
      if (key === undefined) return;
      const page = held.get(key)!;
      held.delete(key);
      held.set(key, page);
      const now = Date.now();
      if (now - page.notedAt <= NOTED_EVERY) return;
      page.notedAt = now;
      void utimes(fileOf(key), now / 1000, now / 1000).catch(() => {});
    },
    async write(key, before, bytes) {
      if (held.has(key) || bytes.length + HEADER_BYTES > most) return;
      let write = writing.get(key);
      if (!write) writing.set(key, (write = put(key, before, bytes).finally(() => writing.delete(key))));
      await write;
    },
    async close() {
      await Promise.all([...writing.values(), trimming]);
    },
  };
}

/** Makes the folders, takes away what nobody will read, and lists the pages in the order of their use. */
async function prepare(root: string): Promise<Map<string, Held>> {
  const pages: [string, Held][] = [];
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
  return new Map(pages.sort(([, a], [, b]) => a.notedAt - b.notedAt));
}

/** null: there is no such page. A file that is not one, or one of another form, is taken away. */
async function readHeader(file: string, key: string): Promise<Held | null> {
  const handle = await open(file).catch(() => null);
  if (!handle) return null;
  try {
    const info = await handle.stat();
    if (!info.isFile()) return null;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const before = pageBefore(key, buffer.subarray(0, bytesRead));
    if (before !== undefined) return { before, bytes: info.size, notedAt: info.mtimeMs };
  } catch {
    return null;
  } finally {
    await handle.close();
  }
  await rm(file, { force: true }).catch(() => {});
  return null;
}

/** Level by level: Node's recursive mkdir goes round for ever where a folder takes none, as /proc does. */
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

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
}
