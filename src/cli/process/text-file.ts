// Decodes a text file: UTF-8, or UTF-16 with a byte order mark, which Windows PowerShell writes when output is redirected.

import { UsageError } from './exit.ts';

/** Returns the text without its byte order mark. Throws UsageError, which names `path`, for bytes in another encoding. */
export function textOf(bytes: Uint8Array, path: string): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  try {
    return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${path} is not UTF-8 text: save it as UTF-8`);
  }
}
