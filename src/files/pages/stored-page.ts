// Pages in storage: their names, and the header of a stored page, by which a page that is truncated, damaged or under a wrong name is
// recognized.

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The name of a page: a hash of all tokens up to its end, the scope, and `identity`, which stands for the model and its layout. */
export function pageName(identity: string, before: string | null, scope: string, tokens: string): string {
  const hash = createHash('sha256');
  hash.update(before ?? JSON.stringify([identity, scope]));
  return hash.update('\0').update(Buffer.from(tokens, 'utf16le')).digest('hex');
}

const MAGIC = 'svcpage2';
/** Magic, name of the page, name of the page before it, length, and a checksum of everything but the magic. */
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

/** The bytes of a stored page; null: it is another page, or damaged. */
export function openSealed(key: string, sealed: Buffer): Uint8Array | null {
  if (pageBefore(key, sealed) === undefined) return null;
  const bytes = new Uint8Array(sealed.buffer, sealed.byteOffset + HEADER_BYTES, sealed.length - HEADER_BYTES);
  if (sealed.readUInt32LE(72) !== bytes.length) return null;
  return sealed.readUInt32LE(CHECKSUM) === checksum(sealed, bytes) ? bytes : null;
}

/** The name of the page before a stored one, for which its header is enough; undefined: it is another page, or no page. */
export function pageBefore(key: string, sealed: Buffer): string | null | undefined {
  if (sealed.length < HEADER_BYTES || sealed.toString('latin1', 0, 8) !== MAGIC) return undefined;
  if (sealed.toString('hex', 8, 40) !== key) return undefined;
  const before = sealed.toString('hex', 40, 72);
  return before === FIRST ? null : before;
}

function checksum(sealed: Buffer, bytes: Uint8Array): number {
  return crc32(bytes, crc32(sealed.subarray(8, CHECKSUM)));
}
