// Recognises GGUF files by their first four bytes, whatever their name.

import type { ByteSource } from '../source.ts';

const MAGIC = [0x47, 0x47, 0x55, 0x46]; // "GGUF"

export async function isGguf(source: ByteSource): Promise<boolean> {
  if (source.size < MAGIC.length) return false;
  const head = await source.read(0, MAGIC.length);
  return MAGIC.every((byte, at) => head[at] === byte);
}
