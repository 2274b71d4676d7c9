// The cache on disk, as Python's huggingface_hub lays it out, so that both find each other's models:
//
//   models--org--name/blobs/<sha256 or etag>            the bytes, once each; <blob>.incomplete while they arrive
//                    /refs/<branch or tag>              a text file: the commit it stood for
//                    /snapshots/<commit>/<path>         relative links into blobs
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import {
  copyFile,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { bytesText } from '../bytes-text.ts';
import { badRequest, EngineError, internalError } from '../error.ts';
import { readAll, readDiskJson, writeAll } from '../disk/source-disk.ts';
import type { BlobLock, CachedFile, Hasher, ModelCache, PartialFile, RepoCache } from './hub-cache.ts';
import { acquireLock } from './hub-lock.ts';
import type { HubSource, KnownFile } from './hub-source.ts';

/** Settings of a cache on disk. */
export interface DiskSettings {
  /** The folder. */
  cache: string;
  /** Name of the environment variable for the folder. */
  cacheVariable: string;
  /** false: snapshot folders contain copies, for disks and programs without support for links. */
  symlinks: boolean;
}

/** A hub, and the cache of its models on disk. */
export type DiskHub = HubSource & DiskSettings;

const FOLDER = 'models--';
const UNWRITABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOENT']);

export class DiskCache implements ModelCache {
  readonly place: string;
  readonly #settings: DiskSettings;

  constructor(settings: DiskSettings) {
    this.place = settings.cache;
    this.#settings = settings;
  }

  async ids(): Promise<string[]> {
    const entries = await readdir(this.place, { withFileTypes: true }).catch(() => []);
    return entries
      .filter((entry) => entry.isDirectory() && entry.name.startsWith(FOLDER))
      .map((entry) => entry.name.slice(FOLDER.length).replaceAll('--', '/'))
      .sort();
  }

  repo(id: string): DiskRepo {
    return new DiskRepo(this.#settings, id);
  }

  hasher(kind: 'sha1' | 'sha256'): Hasher {
    const hash = createHash(kind);
    return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
  }

  async errorOf(error: unknown, id: string): Promise<unknown> {
    const { cacheVariable } = this.#settings;
    const code =
      error instanceof Error && 'code' in error && !(error instanceof EngineError) ? error.code : null;
    if (code === 'ENOSPC' || code === 'EDQUOT') {
      return new EngineError(
        'disk_full',
        `the disk ran full while fetching ${id} into ${this.place}; free some space or point ${cacheVariable} at another disk`,
        { cause: error },
      );
    }
    if (typeof code === 'string' && UNWRITABLE.has(code)) {
      return badRequest(
        `cannot write to the model cache ${this.place} (${code}); point ${cacheVariable} at a folder that can be written`,
        undefined,
        error,
      );
    }
    return error;
  }
}

/** The folder of one model. */
export class DiskRepo implements RepoCache {
  readonly id: string;
  readonly path: string;
  readonly blobs: string;
  readonly snapshots: string;
  readonly refsFolder: string;
  readonly locks: string;
  readonly #settings: DiskSettings;

  constructor(settings: DiskSettings, id: string) {
    const folder = `${FOLDER}${id.replaceAll('/', '--')}`;
    this.id = id;
    this.path = join(settings.cache, folder);
    this.blobs = join(this.path, 'blobs');
    this.snapshots = join(this.path, 'snapshots');
    this.refsFolder = join(this.path, 'refs');
    this.locks = join(settings.cache, '.locks', folder);
    this.#settings = settings;
  }

  async refs(): Promise<Map<string, string>> {
    const refs = new Map<string, string>();
    for (const name of await listFiles(this.refsFolder))
      refs.set(name, (await readFile(join(this.refsFolder, name), 'utf8')).trim());
    return refs;
  }

  async commits(): Promise<string[]> {
    const entries = await readdir(this.snapshots, { withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  /** Links count as nothing, and a file with several names counts once. */
  async bytes(): Promise<number> {
    const seen = new Set<number>();
    let bytes = 0;
    for (const path of await listFiles(this.path)) {
      const found = await lstat(join(this.path, path)).catch(() => null);
      if (!found?.isFile() || seen.has(found.ino)) continue;
      seen.add(found.ino);
      bytes += found.size;
    }
    return bytes;
  }

  commitOf(revision: string): Promise<string | null> {
    return readFile(join(this.refsFolder, revision), 'utf8').then(
      (text) => text.trim() || null,
      () => null,
    );
  }

  async writeRef(revision: string, commit: string): Promise<void> {
    const path = join(this.refsFolder, revision);
    if (revision === commit || (await this.commitOf(revision)) === commit) return;
    await mkdir(dirname(path), { recursive: true });
    const fresh = temporary(path);
    await writeFile(fresh, commit);
    await rename(fresh, path);
  }

  pathOf(commit: string): string {
    return join(this.snapshots, commit);
  }

  async files(commit: string): Promise<CachedFile[]> {
    const dir = this.pathOf(commit);
    return Promise.all(
      (await listFiles(dir)).map(async (path) => ({ path, size: await sizeOf(join(dir, path)) })),
    );
  }

  readJson(commit: string, path: string): Promise<Record<string, unknown>> {
    return readDiskJson(join(this.pathOf(commit), path)).catch(() => ({}));
  }

  async link(commit: string, files: readonly KnownFile[]): Promise<void> {
    for (const { path, blob } of files) await this.#linkFile(commit, path, blob);
  }

  /** Puts a blob into a snapshot: a relative link, else a hard link, else a copy. */
  async #linkFile(commit: string, path: string, blob: string): Promise<void> {
    const target = join(this.blobs, blob);
    const pointer = join(this.snapshots, commit, path);
    const place = relative(dirname(pointer), target);
    const size = await sizeOf(target);
    // Nothing to link: the snapshot contains the file itself, as Python leaves it on file systems without links.
    if (size === null) return;
    const present = await lstat(pointer).catch(() => null);
    const isLinked = present?.isSymbolicLink() && (await readlink(pointer)) === place;
    if (isLinked || (present?.isFile() && present.size === size)) return;

    await mkdir(dirname(pointer), { recursive: true });
    const fresh = temporary(pointer);
    const isMade = this.#settings.symlinks && (await succeeds(symlink(place, fresh)));
    if (!isMade && !(await succeeds(link(target, fresh)))) await copyFile(target, fresh);
    await rename(fresh, pointer);
  }

  async has(commit: string, file: KnownFile): Promise<boolean> {
    return (await this.hasBlob(file)) || (await sizeOf(join(this.pathOf(commit), file.path))) === file.size;
  }

  async hasBlob({ blob, size }: KnownFile): Promise<boolean> {
    return (await sizeOf(join(this.blobs, blob))) === size;
  }

  async partialBytes(blob: string): Promise<number> {
    return (await sizeOf(this.#partialPath(blob))) ?? 0;
  }

  /** Creates the folders and throws if the disk has too little space. */
  async prepare(need: number): Promise<void> {
    await mkdir(this.blobs, { recursive: true });
    await mkdir(this.snapshots, { recursive: true });
    const { bavail, bsize, blocks } = await statfs(dirname(this.blobs));
    const free = bavail * bsize;
    // Some network file systems report no blocks at all.
    if (blocks > 0 && free < need) {
      const { cache, cacheVariable } = this.#settings;
      throw new EngineError(
        'disk_full',
        `${this.id} needs ${bytesText(need)} more in ${cache}, where ${bytesText(free)} are free; free some space or point ${cacheVariable} at another disk`,
      );
    }
  }

  lock(
    blob: string,
    signal: AbortSignal | undefined,
    onWait: (pid: number) => Promise<void>,
  ): Promise<BlobLock> {
    return acquireLock(join(this.locks, `${blob}.svc.lock`), signal, onWait);
  }

  async openPartial(blob: string): Promise<PartialFile> {
    const file = await open(this.#partialPath(blob), constants.O_RDWR | constants.O_CREAT);
    return {
      size: async () => (await file.stat()).size,
      empty: () => file.truncate(0),
      async readInto(offset, target) {
        const read = await readAll(file, target, offset);
        if (read < target.length) throw internalError('a partial file was cut short while it was read');
      },
      write: (offset, bytes) => writeAll(file, bytes, offset),
      flush: () => file.datasync(),
      close: () => file.close(),
    };
  }

  removePartial(blob: string): Promise<void> {
    return rm(this.#partialPath(blob), { force: true });
  }

  async finish(file: KnownFile): Promise<void> {
    await rename(this.#partialPath(file.blob), join(this.blobs, file.blob)).catch(async (error: unknown) => {
      // Another process, which considered this one dead, completed the file first.
      if (!(await this.hasBlob(file))) throw error;
    });
  }

  #partialPath(blob: string): string {
    return join(this.blobs, `${blob}.incomplete`);
  }
}

/** Returns the size of a file, following links; null if it does not exist. */
const sizeOf = (path: string): Promise<number | null> =>
  stat(path).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );

/** Returns a unique name for a file that will be renamed. */
const temporary = (path: string): string => `${path}.${randomUUID()}.tmp`;

const succeeds = (work: Promise<void>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Lists the files below a folder as slash-separated paths. */
export async function listFiles(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries
    .filter((entry) => !entry.isDirectory() && !entry.name.endsWith('.tmp'))
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}
