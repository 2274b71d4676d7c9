// The file format of packed weights: safetensors of U32 words, with the identity of what was packed and a checksum in its metadata. A
// file whose identity or checksum differs is a miss. Where files lie is the platform's business: quantized-cache.ts on disk,
// files/opfs/opfs-packed.ts in a browser.

import { EngineError, internalError } from '../error.ts';
import { nameOf } from '../posix-path.ts';
import type { ByteSource } from '../source.ts';
import {
  readSafetensors,
  safetensorsHead,
  type TensorEntry,
  type TensorSpec,
} from '../tensors/safetensors.ts';

export interface PackedOrigin {
  /** The checkpoint's folder. */
  path: string;
  /** File names of its weights. */
  shards: readonly string[];
  quantization: string;
  /** Changes whenever packing writes different bytes. */
  layout: string;
}

/** A version of the shards of a checkpoint: their folder, and what tells it from others. */
export interface WeightsOrigin {
  folder: string;
  files: readonly (readonly (string | number)[])[];
}

export interface PackedEntry {
  name: string;
  /** Multiples of four bytes; consumed in order; each may be reused once the next is requested. */
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

export type PackedEntries = Iterable<PackedEntry> | AsyncIterable<PackedEntry>;

export interface PackedFile {
  /** U32, one dimension, in the order they were written. */
  tensors: Map<string, TensorEntry>;
  metadata: Record<string, string>;
  close(): Promise<void>;
}

/** CRC-32 of a text in UTF-8 or of bytes; `seed` is the checksum of what comes before. */
export type Crc32 = (data: string | Uint8Array, seed?: number) => number;

/** Names are known only at the end, so space for the header is reserved: about 9,000 tensors at 110 bytes each. */
const HEADER_ROOM = 1 << 20;
const READ_BYTES = 8 << 20;

/** Names of files with packed weights. `sha256`: the digest of a text in hexadecimal. */
export function packedName(
  { folder, quantization, identity }: { folder: string; quantization: string; identity: string },
  sha256: (text: string) => string,
): string {
  const readable = nameOf(folder.replaceAll('\\', '/')).replace(/[^\w.-]/g, '_');
  const stem = `${readable}-${sha256(folder).slice(0, 8)}-${quantization}`;
  return `${stem}-${sha256(identity).slice(0, 16)}.safetensors`;
}

/** The part of a name that all versions of one checkpoint and quantization share. */
export const packedStem = (name: string): string => name.slice(0, name.lastIndexOf('-') + 1);

/** Reads the file once and compares its checksum; null: it does not match. The source stays open in the result, and is closed otherwise. */
export async function readPackedFile(
  source: ByteSource,
  identity: string,
  crc32: Crc32,
): Promise<PackedFile | null> {
  try {
    const { tensors, metadata } = await readSafetensors(source);
    const { identity: found, crc32: expected, ...own } = metadata;
    if (found === identity && expected === String(await checksum([...tensors.values()], own, crc32))) {
      return { tensors, metadata: own, close: () => source.close() };
    }
  } catch (cause) {
    if (!(cause instanceof EngineError) || cause.code !== 'bad_checkpoint') {
      await source.close();
      throw cause;
    }
  }
  await source.close();
  return null;
}

async function checksum(
  tensors: TensorEntry[],
  metadata: Record<string, string>,
  crc32: Crc32,
): Promise<number> {
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

export interface PackedTarget {
  /** Name of the file, for errors. */
  file: string;
  identity: string;
  metadata: Record<string, string>;
  crc32: Crc32;
  write(offset: number, bytes: Uint8Array): Promise<void>;
}

/** Writes the whole file, its header last. Throws what `write` and `entries` throw. */
export async function writePackedFile(target: PackedTarget, entries: PackedEntries): Promise<void> {
  const { specs, crc } = await writeEntries(target, entries);
  const { identity, metadata } = target;
  const head = safetensorsHead(specs, { ...metadata, identity, crc32: String(crc) }, HEADER_ROOM);
  if (head.length > HEADER_ROOM) {
    throw internalError(`${specs.length} names are too long for the room kept in ${target.file}`);
  }
  await target.write(0, head);
}

async function writeEntries(
  { metadata, crc32, write }: PackedTarget,
  entries: PackedEntries,
): Promise<{ specs: TensorSpec[]; crc: number }> {
  const specs = new Map<string, TensorSpec>();
  let crc = crc32(JSON.stringify(metadata));
  let at = HEADER_ROOM;
  for await (const { name, chunks } of entries) {
    if (specs.has(name)) throw internalError(`${name} was packed twice`);
    crc = crc32(`${name}\0`, crc);
    const begin = at;
    for await (const chunk of chunks) {
      crc = crc32(chunk, crc);
      await write(at, chunk);
      at += chunk.length;
    }
    if ((at - begin) % 4 !== 0) throw internalError(`${name} packed to ${at - begin} bytes, not whole words`);
    specs.set(name, { name, dtype: 'U32', shape: [(at - begin) / 4] });
  }
  return { specs: [...specs.values()], crc };
}
