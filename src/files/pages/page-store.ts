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
  /** `before`: the page it is found by. Nothing happens where it is there already, or where there is no room. */
  write(key: string, before: string | null, bytes: Uint8Array): Promise<void>;
  /** Pages from a first one on are in use now, wherever they were found; those that are there stay longer. */
  touch(keys: readonly string[]): void;
  /** Waits for what is being written. */
  close(): Promise<void>;
}

/** The name of a page: of all tokens up to its end, under one scope. `identity`: all else that decides whether it fits. */
export function pageName(identity: string, before: string | null, scope: string, tokens: string): string {
  const hash = createHash('sha256');
  hash.update(before ?? JSON.stringify([identity, scope]));
  return hash.update('\0').update(Buffer.from(tokens, 'utf16le')).digest('hex');
}

const MAGIC = 'svcpage2';
/** Magic, the names of the page and of the one before it, its length, the checksum of all but the magic. */
export const HEADER_BYTES = 8 + 32 + 32 + 4 + 4;
const CHECKSUM = HEADER_BYTES - 4;
const FIRST = '0'.repeat(64);

export function sealPage(key: string, before: string | null, bytes: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(HEADER_BYTES + bytes.length);
  sealed.write(MAGIC, 0, 'latin1');
  sealed.write(key, 8, 'hex');
  sealed.write(before ?? FIRST, 40, 'hex');
  sealed.writeUInt32LE(bytes.length, 72);
  sealed.writeUInt32LE(checksum(sealed, bytes), CHECKSUM);
  sealed.set(bytes, HEADER_BYTES);
  return sealed;
}

/** null: not that page, or not whole. */
export function openSealed(key: string, sealed: Buffer): Uint8Array | null {
  if (pageBefore(key, sealed) === undefined) return null;
  const bytes = new Uint8Array(sealed.buffer, sealed.byteOffset + HEADER_BYTES, sealed.length - HEADER_BYTES);
  if (sealed.readUInt32LE(72) !== bytes.length) return null;
  return sealed.readUInt32LE(CHECKSUM) === checksum(sealed, bytes) ? bytes : null;
}

/** The page before a sealed one, of which the header is enough; undefined: it is not that page. */
export function pageBefore(key: string, sealed: Buffer): string | null | undefined {
  if (sealed.length < HEADER_BYTES || sealed.toString('latin1', 0, 8) !== MAGIC) return undefined;
  if (sealed.toString('hex', 8, 40) !== key) return undefined;
  const before = sealed.toString('hex', 40, 72);
  return before === FIRST ? null : before;
}

function checksum(sealed: Buffer, bytes: Uint8Array): number {
  return crc32(bytes, crc32(sealed.subarray(8, CHECKSUM)));
}
