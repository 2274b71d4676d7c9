// KV pages as files, one each, in a folder for all models. The least recently used go when there are too many bytes. A page is
// written under another name and takes its own when it is whole, so that a process may end at any moment.

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { EngineError } from './error.ts';
import { isAlive } from './live-process.ts';
import { HEADER_BYTES, openSealed, sealPage, type PageStore } from './page-store.ts';

interface Held {
  bytes: number;
  usedAt: number;
}

const PAGE = /^[0-9a-f]{64}\.page$/;
const UNFINISHED = /^[0-9a-f]{64}\.page\.(\d+)\.[0-9a-f]{8}\.tmp$/;
/** Share that stays when it is full. */
const KEPT = 0.9;
/** Milliseconds after which a use is noted on disk. */
const NOTED_EVERY = 60_000;

/** Throws where the folder cannot be written. */
export async function openFileStore(
  folder: string,
  most: number,
  onTrouble: (message: string) => void,
): Promise<PageStore> {
  const root = resolve(folder);
  const held = new Map<string, Held>();
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
    const oldest = [...held].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [key] of oldest) {
      if (used <= KEPT * most) return;
      await remove(key);
    }
  };

  const put = async (key: string, bytes: Uint8Array): Promise<void> => {
    const file = fileOf(key);
    const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
    try {
      await writeFile(temporary, sealPage(key, bytes), { flag: 'wx' });
      await rename(temporary, file);
    } catch (cause) {
      await rm(temporary, { force: true }).catch(() => {});
      return trouble('written', cause);
    }
    held.set(key, { bytes: bytes.length + HEADER_BYTES, usedAt: Date.now() });
    used += bytes.length + HEADER_BYTES;
    if (used > most) await (trimming ??= trim().finally(() => (trimming = null)));
  };

  await prepare(root, held).catch((cause: unknown) => {
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
      const page = held.get(key);
      if (!page) return null;
      const sealed = await readFile(fileOf(key)).catch(() => null);
      const bytes = sealed && openSealed(key, sealed);
      if (!bytes) {
        await remove(key);
        return null;
      }
      const now = Date.now();
      if (now - page.usedAt > NOTED_EVERY) void utimes(fileOf(key), now / 1000, now / 1000).catch(() => {});
      page.usedAt = now;
      return bytes;
    },
    async write(key, bytes) {
      if (held.has(key) || bytes.length + HEADER_BYTES > most) return;
      let write = writing.get(key);
      if (!write) writing.set(key, (write = put(key, bytes).finally(() => writing.delete(key))));
      await write;
    },
    async close() {
      await Promise.all([...writing.values(), trimming]);
    },
  };
}

/** Makes the folders, takes away what writers that died left behind, and lists the pages. */
async function prepare(root: string, held: Map<string, Held>): Promise<void> {
  for (let i = 0; i < 256; i++) {
    const folder = join(root, i.toString(16).padStart(2, '0'));
    await makeFolder(folder);
    for (const name of await readdir(folder)) {
      const writer = UNFINISHED.exec(name)?.[1];
      if (writer !== undefined && !isAlive(Number(writer))) await rm(join(folder, name), { force: true });
      if (!PAGE.test(name)) continue;
      const info = await stat(join(folder, name)).catch(() => null);
      if (info?.isFile()) held.set(name.slice(0, 64), { bytes: info.size, usedAt: info.mtimeMs });
    }
  }
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
