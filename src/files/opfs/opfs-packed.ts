// Packed weights in the private file system. A file belongs to one version of the shards, one quantization and one packed layout; it is
// written under a temporary name and renamed when it is complete.

import { bytesText } from '../bytes-text.ts';
import {
  packedName,
  packedStem,
  readPackedFile,
  writePackedFile,
  type PackedEntries,
  type PackedFile,
} from '../checkpoint/packed-file.ts';
import { crc32 } from '../crc32.ts';
import { sha256 } from './text-hash.ts';
import { writeAll } from './access-handle.ts';
import { PACKED_RANK, type Evictable, type RoomRequest, type StorageRoom } from './room.ts';
import type { AccessHandle, PrivateFolder } from './storage.ts';
import { storedSource } from './stored-source.ts';
import type { StorageUse } from './use.ts';

export interface PackedVersion {
  /** Name of the checkpoint, the same for all its versions. */
  folder: string;
  quantization: string;
  /** Everything on which the validity of the file depends. */
  identity: string;
}

const packedKey = (name: string): string => `packed/${name}`;

export class OpfsPacked {
  readonly #folder: PrivateFolder;
  readonly #use: StorageUse;
  readonly #room: StorageRoom;

  /** `folder`: that of the packed weights. */
  constructor(folder: PrivateFolder, use: StorageUse, room: StorageRoom) {
    this.#folder = folder;
    this.#use = use;
    this.#room = room;
  }

  /** Opens the file; null if none fits. It cannot be removed until the result is closed. */
  async read(version: PackedVersion): Promise<PackedFile | null> {
    const name = packedName(version, sha256);
    if ((await this.#folder.size(name)) === null) return null;
    const release = await this.#use.hold(packedKey(name));
    const found = await storedSource(this.#folder, name, name);
    const file = found && (await readPackedFile(found, version.identity, crc32));
    if (file) {
      const close = async (): Promise<void> => {
        await file.close();
        await release();
      };
      return { ...file, close };
    }
    await release();
    await this.#remove(name);
    return null;
  }

  /** Throws disk_full, and what `entries` throws; no file is left behind then. */
  async write(version: PackedVersion, entries: PackedEntries): Promise<void> {
    const name = packedName(version, sha256);
    const temporary = `${name}.${crypto.randomUUID()}.tmp`;
    const release = await this.#use.hold(packedKey(temporary));
    try {
      const handle = await this.#folder.access(temporary);
      try {
        await writePackedFile(this.#target(name, version.identity, handle), entries);
        handle.flush();
      } finally {
        handle.close();
      }
      await this.#folder.rename(temporary, name);
    } finally {
      await release();
      await this.#remove(temporary);
    }
    await (
      await this.#use.hold(packedKey(name))
    )();
    await this.#removeOlder(name);
  }

  /** Removes the file if it is there and nothing reads it. */
  remove(version: PackedVersion): Promise<void> {
    return this.#remove(packedName(version, sha256));
  }

  #target(file: string, identity: string, handle: AccessHandle) {
    const write = async (offset: number, bytes: Uint8Array): Promise<void> => {
      const size = handle.getSize();
      const request: RoomRequest = {
        need: Math.max(0, offset + bytes.length - size), // the header comes last, into room that is kept for it
        what: `${file} (packed weights, ${bytesText(size)} so far)`,
        key: packedKey(file),
        rank: PACKED_RANK,
      };
      await this.#room.make(request);
      await writeAll(handle, offset, bytes, () => this.#room.makeMore(request));
    };
    return { file, identity, metadata: {}, crc32, write };
  }

  /** Removes other versions of the same checkpoint and quantization, and temporary files of tabs that ended. */
  async #removeOlder(own: string): Promise<void> {
    for (const { name } of await this.#folder.entries())
      if (name !== own && name.startsWith(packedStem(own))) await this.#remove(name);
  }

  async #remove(name: string): Promise<void> {
    const removed = await this.#use.whileUnused(packedKey(name), () => this.#folder.remove(name));
    if (removed) await this.#use.forget(packedKey(name));
  }

  async evictables(): Promise<Evictable[]> {
    const entry = async ({ name }: { name: string }): Promise<Evictable> => ({
      key: packedKey(name),
      rank: PACKED_RANK,
      bytes: (await this.#folder.size(name)) ?? 0,
      remove: () => this.#folder.remove(name),
    });
    return Promise.all((await this.#folder.entries()).map(entry));
  }
}
