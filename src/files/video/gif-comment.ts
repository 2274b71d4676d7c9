// A comment in a GIF file: an extension whose text stands in blocks of at most 255 bytes.

import { concatBytes, latin1Text } from '../image/file-parts.ts';

const [EXTENSION, COMMENT, TRAILER] = [0x21, 0xfe, 0x3b];
const MOST_BYTES = 255;

export const isGif = (file: Uint8Array): boolean => /^GIF8[79]a$/.test(latin1Text(file, 0, 6));

/** Returns the file with a comment before its end. */
export function withComment(file: Uint8Array, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += MOST_BYTES) {
    const block = bytes.subarray(at, at + MOST_BYTES);
    blocks.push(Uint8Array.of(block.length), block);
  }
  const end = file.lastIndexOf(TRAILER);
  return concatBytes(
    file.subarray(0, end),
    Uint8Array.of(EXTENSION, COMMENT),
    ...blocks,
    Uint8Array.of(0, TRAILER),
  );
}

/** The last comment of a file; null: there is none. */
export function commentIn(file: Uint8Array): string | null {
  for (let at = file.length - 1; at > 0; at--) {
    if (file[at - 1] !== EXTENSION || file[at] !== COMMENT) continue;
    const blocks: Uint8Array[] = [];
    let next = at + 1;
    while (next < file.length && file[next] !== 0) {
      blocks.push(file.subarray(next + 1, next + 1 + file[next]!));
      next += 1 + file[next]!;
    }
    // Only a whole comment is followed by the end of the file.
    if (file[next] === 0 && file[next + 1] === TRAILER)
      return new TextDecoder().decode(concatBytes(...blocks));
  }
  return null;
}
