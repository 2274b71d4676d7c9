// Boxes of MP4 files (ISO/IEC 14496-12): how they are written, and how those within a file are found.

import { concatBytes, latin1Bytes, latin1Text, uint16, uint32, viewOf } from '../image/file-parts.ts';

/** A box: its length, its type, and what it contains. */
export function box(type: string, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = parts.reduce((sum, part) => sum + part.length, 8);
  return concatBytes(uint32(length), latin1Bytes(type), ...parts);
}

/** A box of version 0 with flags. */
export const fullBox = (type: string, flags: number, ...parts: readonly Uint8Array[]): Uint8Array =>
  box(type, uint32(flags), ...parts);

export const zeros = (count: number): Uint8Array => new Uint8Array(count);

/** Numbers of 32 bits, big-endian. */
export const words = (...values: readonly number[]): Uint8Array => concatBytes(...values.map(uint32));

/** Numbers of 16 bits, big-endian. */
export const halves = (...values: readonly number[]): Uint8Array => concatBytes(...values.map(uint16));

/** Bytes of the headers of boxes that hold others behind them. */
const HEADERS: Readonly<Record<string, number>> = { stsd: 8, avc1: 78, meta: 4 };

/**
 * The content of the first box on a path of types, as `moov/udta`; null: there is none. Sizes that reach beyond the file end the search, so
 * that damaged files are read as far as they go.
 */
export function boxAt(file: Uint8Array, path: string): Uint8Array | null {
  let content = file;
  for (const type of path.split('/')) {
    const found = childOf(content, type);
    if (found === null) return null;
    content = found;
  }
  return content;
}

function childOf(content: Uint8Array, wanted: string): Uint8Array | null {
  const view = viewOf(content);
  for (let at = 0; at + 8 <= content.length;) {
    const length = view.getUint32(at);
    const type = latin1Text(content, at + 4, at + 8);
    // Length 0: up to the end of the file. Length 1: the length follows as 64 bits.
    const [head, size] =
      length === 1 && at + 16 <= content.length
        ? [16, Number(view.getBigUint64(at + 8))]
        : [8, length || content.length - at];
    if (size < head || at + size > content.length) return null;
    if (type === wanted) return content.subarray(at + head + (HEADERS[type] ?? 0), at + size);
    at += size;
  }
  return null;
}

/** Whether a file begins as MP4 files and their relatives do. */
export const isMp4 = (file: Uint8Array): boolean => latin1Text(file, 4, 8) === 'ftyp';
