// The table at the end of a zip archive: where its files lie. Files that are compressed are listed with their method, as none is read here.

import { badCheckpoint, type EngineError } from '../error.ts';
import type { ByteSource } from '../source.ts';

export interface ZippedFile {
  /** Bytes as stored. */
  bytes: number;
  /** Whether the bytes are those of the file. */
  isPlain: boolean;
  /** Offset of the header before the file's bytes, from the start of the archive. */
  header: number;
}

const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const LISTED = 0x02014b50;
const FILE = 0x04034b50;
/** Bytes of the record that ends an archive, without the comment of up to 65,535 bytes behind it. */
const END_BYTES = 22;
/** Bytes of the record that says where the 64-bit one lies. It stands before the ending record. */
const LOCATOR_BYTES = 20;
const END_64_BYTES = 56;
const LISTED_BYTES = 46;
const FILE_BYTES = 30;
/** The value of a field of 32 bits whose number stands in the 64-bit fields. */
const BEYOND = 0xffffffff;
/** A table of a million files. */
const MOST_BYTES = 2 ** 27;

/** Reads the table. Errors: bad_checkpoint. */
export async function readZipIndex(source: ByteSource): Promise<Map<string, ZippedFile>> {
  const tailStart = Math.max(0, source.size - END_BYTES - LOCATOR_BYTES - 0xffff);
  const tail = view(await source.read(tailStart, source.size - tailStart));
  let at = tail.byteLength - END_BYTES;
  while (at >= 0 && tail.getUint32(at, true) !== END) at--;
  if (at < 0) throw unsound(source, 'its end is missing');
  let [bytes, start] = [tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)];
  if (at >= LOCATOR_BYTES && tail.getUint32(at - LOCATOR_BYTES, true) === LOCATOR_64) {
    const offset = Number(tail.getBigUint64(at - LOCATOR_BYTES + 8, true));
    if (offset + END_64_BYTES > source.size) throw unsound(source, 'its 64-bit end lies beyond the file');
    const end = view(await source.read(offset, END_64_BYTES));
    if (end.getUint32(0, true) !== END_64) throw unsound(source, 'its 64-bit end is missing');
    [bytes, start] = [Number(end.getBigUint64(40, true)), Number(end.getBigUint64(48, true))];
  }
  if (bytes > MOST_BYTES || start + bytes > source.size)
    throw unsound(source, `its table claims ${bytes} bytes at ${start}`);
  return parseTable(source, view(await source.read(start, bytes)));
}

function parseTable(source: ByteSource, table: DataView): Map<string, ZippedFile> {
  const files = new Map<string, ZippedFile>();
  let at = 0;
  while (at + LISTED_BYTES <= table.byteLength) {
    if (table.getUint32(at, true) !== LISTED) throw unsound(source, `its table is broken at ${at}`);
    const [name, extra, comment] = [28, 30, 32].map((field) => table.getUint16(at + field, true)) as [
      number,
      number,
      number,
    ];
    const [next, from] = [at + LISTED_BYTES + name + extra + comment, at + LISTED_BYTES];
    if (next > table.byteLength) throw unsound(source, `its table ends within an entry`);
    const path = new TextDecoder().decode(new Uint8Array(table.buffer, table.byteOffset + from, name));
    const more = longFields(table, from + name, extra);
    // The long fields stand in this order, each only where the short one cannot hold its number.
    const [plain, bytes, header] = [24, 20, 42].map((field) => {
      const value = table.getUint32(at + field, true);
      return value === BEYOND ? more.shift() : value;
    });
    if (plain === undefined || bytes === undefined || header === undefined)
      throw unsound(source, `its entry ${path} lacks its size`);
    files.set(path, { bytes, isPlain: table.getUint16(at + 10, true) === 0 && plain === bytes, header });
    at = next;
  }
  return files;
}

/** The numbers of 64 bits among an entry's extra fields. */
function longFields(table: DataView, start: number, length: number): number[] {
  for (let at = start; at + 4 <= start + length;) {
    const [id, bytes] = [table.getUint16(at, true), table.getUint16(at + 2, true)];
    const count = Math.floor(Math.min(bytes, start + length - at - 4) / 8);
    if (id === 1)
      return Array.from({ length: count }, (_, i) => Number(table.getBigUint64(at + 4 + 8 * i, true)));
    at += 4 + bytes;
  }
  return [];
}

/** Returns the offset of a file's bytes from the start of the archive. Throws bad_checkpoint for one that is compressed. */
export async function zippedOffset(source: ByteSource, path: string, file: ZippedFile): Promise<number> {
  if (!file.isPlain) throw unsound(source, `its file ${path} is compressed, which torch does not do`);
  if (file.header + FILE_BYTES > source.size) throw unsound(source, `its file ${path} lies beyond its end`);
  const header = view(await source.read(file.header, FILE_BYTES));
  if (header.getUint32(0, true) !== FILE) throw unsound(source, `its file ${path} has no header`);
  const offset = file.header + FILE_BYTES + header.getUint16(26, true) + header.getUint16(28, true);
  if (offset + file.bytes > source.size) throw unsound(source, `its file ${path} lies beyond its end`);
  return offset;
}

const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function unsound(source: ByteSource, reason: string): EngineError {
  return badCheckpoint(`${source.name} is not a sound zip archive: ${reason}; fetch it again`, source.name);
}
