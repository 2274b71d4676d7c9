// The text of a file that a person wrote: UTF-8, or UTF-16 as Windows PowerShell writes what is sent into a file.

import { UsageError } from './exit.ts';

/** Without a byte order mark. Throws UsageError, which names `path`, for bytes that are neither. */
export function textOf(bytes: Uint8Array, path: string): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  try {
    return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${path} is no UTF-8 text: save it as UTF-8`);
  }
}
