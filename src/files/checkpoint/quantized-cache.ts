// Cache of packed weights on disk, so that a checkpoint is quantised only once. A file belongs to one version of the shards, one
// quantization and one packed layout. Writing streams into a temporary file, which is renamed when it is complete.

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { cacheFolder } from '../disk/cache-folder.ts';
import { codeOf, EngineError, internalError } from '../error.ts';
import { isAlive } from '../disk/live-process.ts';
import {
  packedName,
  packedStem,
  readPackedFile,
  writePackedFile,
  type PackedEntries,
  type PackedFile,
  type PackedOrigin,
} from './packed-file.ts';
import { shardFolder } from './shard-folder.ts';
import { openDiskSource, writeAll } from '../disk/source-disk.ts';

export interface PackedKey {
  /** Path of the file, present or not. */
  file: string;
  /** Everything on which the validity of the file depends. */
  identity: string;
}

export async function packedKey({ path, shards, quantization, layout }: PackedOrigin): Promise<PackedKey> {
  const folder = shardFolder(path, shards);
  const files = await Promise.all(
    shards.toSorted().map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return [name, size, mtimeMs];
    }),
  );
  const identity = JSON.stringify({ folder, files, quantization, layout });
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  return {
    file: join(cacheFolder('packed'), packedName({ folder, quantization, identity }, sha256)),
    identity,
  };
}

/** Opens the file; null if none fits. The whole file is read once and compared with its checksum. */
export async function readPacked(key: PackedKey): Promise<PackedFile | null> {
  if ((await stat(key.file).catch(() => null)) === null) return null;
  const source = await openDiskSource(key.file).catch(() => null);
  if (source === null) return null;
  const file = await readPackedFile(source, key.identity, crc32);
  if (file === null) await rm(key.file, { force: true });
  return file;
}

/** Removes the file if it is there. */
export async function removePacked({ file }: PackedKey): Promise<void> {
  await rm(file, { force: true }).catch(() => {}); // another process may read it, which prevents its removal on some systems
}

/** Throws `disk_full`, and whatever `entries` throws; no file is left behind then. */
export async function writePacked(
  key: PackedKey,
  entries: PackedEntries,
  metadata: Record<string, string> = {},
): Promise<void> {
  const temporary = `${key.file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  await onDisk(key, () => mkdir(dirname(key.file), { recursive: true }));
  const file = await onDisk(key, () => open(temporary, 'wx'));
  try {
    const write = (offset: number, bytes: Uint8Array): Promise<void> =>
      onDisk(key, () => writeAll(file, bytes, offset));
    await writePackedFile({ ...key, metadata, crc32, write }, entries);
    await onDisk(key, () => file.close());
    await onDisk(key, () => rename(temporary, key.file));
  } catch (cause) {
    await file.close().catch(() => {});
    await rm(temporary, { force: true });
    throw cause;
  }
  await removeOlder(key);
}

/** Removes files of the same checkpoint and quantization in another version, and temporary files of writers that died. */
async function removeOlder({ file }: PackedKey): Promise<void> {
  const own = basename(file);
  const stem = packedStem(own);
  for (const name of await readdir(dirname(file))) {
    const rest = name.startsWith(stem) ? name.slice(stem.length) : '';
    const writer = /^[0-9a-f]{16}\.safetensors\.(\d+)\.[0-9a-f]{8}\.tmp$/.exec(rest)?.[1];
    const stale =
      writer === undefined
        ? /^[0-9a-f]{16}\.safetensors$/.test(rest) && name !== own
        : !isAlive(Number(writer));
    // Another process may still read the file, which prevents its removal on some systems.
    if (stale) await rm(join(dirname(file), name), { force: true }).catch(() => {});
  }
}

async function onDisk<Value>(key: PackedKey, action: () => Promise<Value>): Promise<Value> {
  try {
    return await action();
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOSPC' || code === 'EDQUOT') {
      throw new EngineError(
        'disk_full',
        `no room left for the packed weights in ${key.file}: free some, or move XDG_CACHE_HOME`,
        { cause },
      );
    }
    throw internalError(
      `the packed weights cannot be written to ${key.file} (${code}): check its permissions, or move XDG_CACHE_HOME`,
      undefined,
      cause,
    );
  }
}
