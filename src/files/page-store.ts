// KV pages in storage: what a store offers, the names of pages, and what stands around a page's bytes there, so that a page that
// is cut, damaged or another's is none.

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export interface PageStore {
  /** What replies call it. */
  readonly backend: 'file' | 'redis';
  /** Bytes of all pages there; null: the store keeps no count of them. */
  readonly used: number | null;
  /** Bytes it keeps at most; null: it has a limit of its own. */
  readonly most: number | null;
  /** How many of these are there, up to the first that is not. */
  leading(keys: readonly string[]): Promise<number>;
  /** null: it is not there, or not whole. */
  read(key: string): Promise<Uint8Array | null>;
  /** Nothing happens where it is there already, or where there is no room. */
  write(key: string, bytes: Uint8Array): Promise<void>;
  /** Waits for what is being written. */
  close(): Promise<void>;
}

/** The name of a page: of all tokens up to its end, under one scope. `identity`: all else that decides whether it fits. */
export function pageName(identity: string, before: string | null, scope: string, tokens: string): string {
  const hash = createHash('sha256');
  hash.update(before ?? JSON.stringify([identity, scope]));
  return hash.update('\0').update(Buffer.from(tokens, 'utf16le')).digest('hex');
}

const MAGIC = 'svcpage1';
/** Magic, the page's name, its length, its checksum. */
export const HEADER_BYTES = 8 + 32 + 4 + 4;

export function sealPage(key: string, bytes: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(HEADER_BYTES + bytes.length);
  sealed.write(MAGIC, 0, 'latin1');
  sealed.write(key, 8, 'hex');
  sealed.writeUInt32LE(bytes.length, 40);
  sealed.writeUInt32LE(crc32(bytes), 44);
  sealed.set(bytes, HEADER_BYTES);
  return sealed;
}

/** null: not that page, or not whole. */
export function openSealed(key: string, sealed: Buffer): Uint8Array | null {
  if (sealed.length < HEADER_BYTES || sealed.toString('latin1', 0, 8) !== MAGIC) return null;
  if (sealed.toString('hex', 8, 40) !== key) return null;
  const bytes = new Uint8Array(sealed.buffer, sealed.byteOffset + HEADER_BYTES, sealed.length - HEADER_BYTES);
  if (sealed.readUInt32LE(40) !== bytes.length || sealed.readUInt32LE(44) !== crc32(bytes)) return null;
  return bytes;
}
