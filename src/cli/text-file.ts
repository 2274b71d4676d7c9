// The text of a file that a person wrote: UTF-8, or UTF-16 as Windows PowerShell writes what is sent into a file.

/** Without a byte order mark. */
export function textOf(bytes: Uint8Array): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes);
}
