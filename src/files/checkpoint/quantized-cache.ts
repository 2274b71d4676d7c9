// Cache of packed weights on disk, so that a checkpoint is quantised only once. A file belongs to one version of the shards, one
// quantization and one packed layout; any other file is a miss, and so is one that does not match its checksum. Writing streams
// into a temporary file, which is renamed when it is complete.

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { cacheFolder } from '../cache-folder.ts';
import { EngineError } from '../error.ts';
import { isAlive } from '../live-process.ts';
import { shardFolder } from './shard-folder.ts';
import { readSafetensors, safetensorsHead, type TensorEntry, type TensorSpec } from './safetensors.ts';
import { openDiskSource, writeAll } from '../source-disk.ts';

export interface PackedKey {
  /** Path of the file, present or not. */
  file: string;
  /** Everything on which the validity of the file depends. */
  identity: string;
}

interface PackedOrigin {
  /** The checkpoint's folder. */
  path: string;
  /** File names of its weights. */
  shards: readonly string[];
  quantization: string;
  /** Changes whenever packing writes different bytes. */
  layout: string;
}

export interface PackedEntry {
  name: string;
  /** Multiples of four bytes; consumed in order; each may be reused once the next is requested. */
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

export interface PackedFile {
  /** U32, one dimension, in the order they were written. */
  tensors: Map<string, TensorEntry>;
  metadata: Record<string, string>;
  close(): Promise<void>;
}

/** Names are known only at the end, so space for the header is reserved: about 9,000 tensors at 110 bytes each. */
const HEADER_ROOM = 1 << 20;
const READ_BYTES = 8 << 20;

export async function packedKey({ path, shards, quantization, layout }: PackedOrigin): Promise<PackedKey> {
  const folder = shardFolder(path, shards);
  const files = await Promise.all(
    shards.toSorted().map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return [name, size, mtimeMs];
    }),
  );
  const identity = JSON.stringify({ folder, files, quantization, layout });
  const stem = `${basename(folder).replace(/[^\w.-]/g, '_')}-${digest(folder, 8)}-${quantization}`;
  return { file: join(cacheFolder('packed'), `${stem}-${digest(identity, 16)}.safetensors`), identity };
}

/** Opens the file; null if none fits. The whole file is read once and compared with its checksum. */
export async function readPacked(key: PackedKey): Promise<PackedFile | null> {
  if ((await stat(key.file).catch(() => null)) === null) return null;
  const source = await openDiskSource(key.file).catch(() => null);
  if (source === null) return null;
  try {
    const { tensors, metadata } = await readSafetensors(source);
    const { identity, crc32: expected, ...own } = metadata;
    if (identity === key.identity && expected === String(await checksum([...tensors.values()], own))) {
      return { tensors, metadata: own, close: () => source.close() };
    }
  } catch (cause) {
    if (!(cause instanceof EngineError) || cause.code !== 'bad_checkpoint') {
      await source.close();
      throw cause;
    }
  }
  await source.close();
  await rm(key.file, { force: true });
  return null;
}

async function checksum(tensors: TensorEntry[], metadata: Record<string, string>): Promise<number> {
  const buffer = new Uint8Array(READ_BYTES);
  let crc = crc32(JSON.stringify(metadata));
  for (const { name, source, offset, bytes } of tensors.toSorted((a, b) => a.offset - b.offset)) {
    crc = crc32(`${name}\0`, crc);
    for (let at = 0; at < bytes; at += READ_BYTES) {
      const part = buffer.subarray(0, Math.min(READ_BYTES, bytes - at));
      await source.readInto(offset + at, part);
      crc = crc32(part, crc);
    }
  }
  return crc;
}

/** Throws `disk_full`, and whatever `entries` throws; no file is left behind then. */
export async function writePacked(
  key: PackedKey,
  entries: Iterable<PackedEntry> | AsyncIterable<PackedEntry>,
  metadata: Record<string, string> = {},
): Promise<void> {
  const temporary = `${key.file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  await onDisk(key, () => mkdir(dirname(key.file), { recursive: true }));
  const file = await onDisk(key, () => open(temporary, 'wx'));
  try {
    const { specs, crc } = await writeEntries(key, file, entries, crc32(JSON.stringify(metadata)));
    const head = safetensorsHead(
      specs,
      { ...metadata, identity: key.identity, crc32: String(crc) },
      HEADER_ROOM,
    );
    if (head.length > HEADER_ROOM) {
      throw new EngineError(
        'internal',
        `${specs.length} names are too long for the room kept in ${key.file}`,
      );
    }
    await onDisk(key, () => writeAll(file, head, 0));
    await onDisk(key, () => file.close());
    await onDisk(key, () => rename(temporary, key.file));
  } catch (cause) {
    await file.close().catch(() => {});
    await rm(temporary, { force: true });
    throw cause;
  }
  await removeOlder(key);
}

async function writeEntries(
  key: PackedKey,
  file: FileHandle,
  entries: Iterable<PackedEntry> | AsyncIterable<PackedEntry>,
  seed: number,
): Promise<{ specs: TensorSpec[]; crc: number }> {
  const specs = new Map<string, TensorSpec>();
  let crc = seed;
  let at = HEADER_ROOM;
  for await (const { name, chunks } of entries) {
    if (specs.has(name)) throw new EngineError('internal', `${name} was packed twice`);
    crc = crc32(`${name}\0`, crc);
    const begin = at;
    for await (const chunk of chunks) {
      crc = crc32(chunk, crc);
      await onDisk(key, () => writeAll(file, chunk, at));
      at += chunk.length;
    }
    if ((at - begin) % 4 !== 0)
      throw new EngineError('internal', `${name} packed to ${at - begin} bytes, not whole words`);
    specs.set(name, { name, dtype: 'U32', shape: [(at - begin) / 4] });
  }
  return { specs: [...specs.values()], crc };
}

/** Removes files of the same checkpoint and quantization in another version, and temporary files of writers that died. */
async function removeOlder({ file }: PackedKey): Promise<void> {
  const own = basename(file);
  const stem = own.slice(0, own.lastIndexOf('-') + 1);
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
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    if (code === 'ENOSPC' || code === 'EDQUOT') {
      throw new EngineError(
        'disk_full',
        `no room left for the packed weights in ${key.file}: free some, or move XDG_CACHE_HOME`,
        { cause },
      );
    }
    throw new EngineError(
      'internal',
      `the packed weights cannot be written to ${key.file} (${code}): check its permissions, or move XDG_CACHE_HOME`,
      { cause },
    );
  }
}

function digest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}
