// Recognises GGUF files by their first four bytes, whatever their name.

import type { ByteSource } from '../source.ts';

const MAGIC = [0x47, 0x47, 0x55, 0x46]; // "GGUF"

/** What to do with a GGUF file of an image model. */
export const GGUF_REMEDY =
  'the weights of image models are read as safetensors: fetch the original repository that the file was converted from (its name is usually the same without -GGUF), for example with `npx svc-engine pull owner/name`, and choose `--quantization int4` for its size';

export async function isGguf(source: ByteSource): Promise<boolean> {
  if (source.size < MAGIC.length) return false;
  const head = await source.read(0, MAGIC.length);
  return MAGIC.every((byte, at) => head[at] === byte);
}
