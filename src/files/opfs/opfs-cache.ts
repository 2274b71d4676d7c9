// The cache of hub models in the private file system. Each model has a folder:
//
//   models/owner--name/model.json            branches and tags, and the files of each snapshot by their blobs
//                     /blobs/<sha256 or etag>  the bytes, once each; <blob>.incomplete while they arrive

import { sha1 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { readAll, writeAll } from './access-handle.ts';
import type { BlobLock, CachedFile, Hasher, ModelCache, PartialFile, RepoCache } from '../hub/hub-cache.ts';
import { pause, throwIfCancelled } from '../hub/hub-http.ts';
import type { KnownFile } from '../hub/hub-source.ts';
import { nameOf } from '../posix-path.ts';
import { type ByteSource, jsonObject } from '../source.ts';
import { readModelRecord, type ModelRecord, writeModelRecord } from './model-record.ts';
import { DOWNLOADED_RANK, type Evictable, type RoomRequest, type StorageRoom } from './room.ts';
import { isQuotaError, type OriginStorage, type PrivateFolder } from './storage.ts';
import { storedSource } from './stored-source.ts';

/** Begin of the paths that stand for stored models: `hub:owner/name/commit`, and the path of a folder or file in the snapshot. */
export const STORED = 'hub:';

const LOCK_POLL_MS = 100;
/** About the size of a model's record, the only other file that is written for it. */
const RECORD_BYTES = 2 ** 16;

/** Key of a model's use. */
export const modelKey = (id: string): string => `models/${folderOfId(id)}`;

const folderOfId = (id: string): string => id.replaceAll('/', '--');

export class OpfsCache implements ModelCache {
  readonly place = "the browser's storage";
  readonly #storage: OriginStorage;
  readonly #models: PrivateFolder;
  readonly #room: StorageRoom;

  /** `folder`: that of the models. */
  constructor(storage: OriginStorage, folder: PrivateFolder, room: StorageRoom) {
    this.#storage = storage;
    this.#models = folder;
    this.#room = room;
  }

  async ids(): Promise<string[]> {
    const entries = await this.#models.entries();
    return entries.filter(({ kind }) => kind === 'directory').map(({ name }) => name.replaceAll('--', '/'));
  }

  repo(id: string): OpfsRepo {
    return new OpfsRepo(id, this.#models.folder(folderOfId(id)), this.#storage, this.#room);
  }

  hasher(kind: 'sha1' | 'sha256'): Hasher {
    const hash = (kind === 'sha1' ? sha1 : sha256).create();
    return { update: (bytes) => void hash.update(bytes), hex: () => bytesToHex(hash.digest()) };
  }

  async errorOf(error: unknown, id: string): Promise<unknown> {
    return isQuotaError(error) ? this.#room.fullError(requestOf(id, RECORD_BYTES)) : error;
  }

  async remove(id: string): Promise<void> {
    await this.#models.remove(folderOfId(id));
  }

  async evictables(): Promise<Evictable[]> {
    const entry = async (id: string): Promise<Evictable> => ({
      key: modelKey(id),
      rank: DOWNLOADED_RANK,
      bytes: await this.repo(id).bytes(),
      remove: () => this.remove(id),
    });
    return Promise.all((await this.ids()).map(entry));
  }
}

const requestOf = (id: string, need: number): RoomRequest => ({
  need,
  what: id,
  key: modelKey(id),
  rank: DOWNLOADED_RANK,
});

/** The stored files of one model. */
export class OpfsRepo implements RepoCache {
  readonly id: string;
  readonly path: string;
  readonly #folder: PrivateFolder;
  readonly #blobs: PrivateFolder;
  readonly #locks: OriginStorage['locks'];
  readonly #room: StorageRoom;
  /** Bytes of the download that are still to be written. */
  #missing = 0;

  constructor(id: string, folder: PrivateFolder, { locks }: OriginStorage, room: StorageRoom) {
    this.id = id;
    this.path = `${STORED}${id}`;
    this.#folder = folder;
    this.#blobs = folder.folder('blobs');
    this.#locks = locks;
    this.#room = room;
  }

  record(): Promise<ModelRecord> {
    return readModelRecord(this.#folder);
  }

  async refs(): Promise<Map<string, string>> {
    return (await this.record()).refs;
  }

  async commits(): Promise<string[]> {
    return [...(await this.record()).snapshots.keys()];
  }

  bytes(): Promise<number> {
    return this.#folder.bytes();
  }

  /** Changes the record; other tabs wait meanwhile. */
  update(edit: (record: ModelRecord) => void): Promise<void> {
    return this.#locks.request(`svc-engine record ${this.id}`, async () => {
      const record = await this.record();
      edit(record);
      await writeModelRecord(this.#folder, record);
    });
  }

  async commitOf(revision: string): Promise<string | null> {
    return (await this.record()).refs.get(revision) ?? null;
  }

  async writeRef(revision: string, commit: string): Promise<void> {
    if (revision === commit || (await this.commitOf(revision)) === commit) return;
    await this.update(({ refs }) => refs.set(revision, commit));
  }

  pathOf(commit: string): string {
    return `${this.path}/${commit}`;
  }

  async files(commit: string): Promise<CachedFile[]> {
    const snapshot = (await this.record()).snapshots.get(commit) ?? new Map();
    return Promise.all(
      [...snapshot].map(async ([path, { blob, size }]): Promise<CachedFile> => {
        const isWhole = (await this.#blobs.size(blob)) === size;
        return { path, size: isWhole ? size : null };
      }),
    );
  }

  /** Opens a file of a snapshot; null: it is not stored. */
  async open(commit: string, path: string): Promise<ByteSource | null> {
    const stored = (await this.record()).snapshots.get(commit)?.get(path);
    const source = stored && (await storedSource(this.#blobs, stored.blob, nameOf(path)));
    if (!source || source.size === stored.size) return source ?? null;
    await source.close();
    return null;
  }

  async readJson(commit: string, path: string): Promise<Record<string, unknown>> {
    const stored = (await this.record()).snapshots.get(commit)?.get(path);
    const text = stored && (await this.#blobs.readText(stored.blob).catch(() => null));
    return jsonObject(text ?? '') ?? {};
  }

  async link(commit: string, files: readonly KnownFile[]): Promise<void> {
    const { snapshots } = await this.record();
    const known = snapshots.get(commit);
    if (files.every(({ path, blob }) => known?.get(path)?.blob === blob)) return;
    await this.update((record) => {
      const snapshot = record.snapshots.get(commit) ?? new Map();
      for (const { path, blob, size } of files) snapshot.set(path, { blob, size });
      record.snapshots.set(commit, snapshot);
    });
  }

  has(_commit: string, file: KnownFile): Promise<boolean> {
    return this.hasBlob(file);
  }

  async hasBlob({ blob, size }: KnownFile): Promise<boolean> {
    return (await this.#blobs.size(blob)) === size;
  }

  async partialBytes(blob: string): Promise<number> {
    return (await this.#blobs.size(incomplete(blob))) ?? 0;
  }

  async prepare(need: number): Promise<void> {
    this.#missing = need;
    await this.#room.make(requestOf(this.id, need));
  }

  async lock(
    blob: string,
    signal: AbortSignal | undefined,
    onWait: (pid: null) => Promise<void>,
  ): Promise<BlobLock> {
    for (;;) {
      throwIfCancelled(signal);
      const lock = await this.#tryLock(`svc-engine blob ${this.id} ${blob}`);
      if (lock !== null) return lock;
      await onWait(null);
      await pause(LOCK_POLL_MS, signal);
    }
  }

  #tryLock(name: string): Promise<BlobLock | null> {
    return new Promise((resolve, reject) => {
      const held = this.#locks.request(name, { ifAvailable: true }, (lock) => {
        if (lock === null) return resolve(null);
        return new Promise<void>((end) =>
          resolve({
            async release() {
              end();
              await held;
            },
          }),
        );
      });
      held.catch(reject);
    });
  }

  async openPartial(blob: string): Promise<PartialFile> {
    const handle = await this.#blobs.access(incomplete(blob));
    const makeRoom = () => this.#room.makeMore(requestOf(this.id, this.#missing));
    return {
      size: async () => handle.getSize(),
      empty: async () => handle.truncate(0),
      readInto: async (offset, target) => readAll(handle, offset, target),
      write: async (offset, bytes) => {
        await writeAll(handle, offset, bytes, makeRoom);
        this.#missing = Math.max(0, this.#missing - bytes.length);
      },
      flush: async () => handle.flush(),
      close: async () => handle.close(),
    };
  }

  removePartial(blob: string): Promise<void> {
    return this.#blobs.remove(incomplete(blob));
  }

  finish({ blob }: KnownFile): Promise<void> {
    return this.#blobs.rename(incomplete(blob), blob);
  }

  /** Removes blobs that no snapshot names. */
  async removeUnused(): Promise<void> {
    const { snapshots } = await this.record();
    const used = new Set(
      [...snapshots.values()].flatMap((files) => [...files.values()].map(({ blob }) => blob)),
    );
    for (const { name } of await this.#blobs.entries()) if (!used.has(name)) await this.#blobs.remove(name);
  }
}

const incomplete = (blob: string): string => `${blob}.incomplete`;
