// Copies of GGUF files with other metadata.

import { readFileSync } from 'node:fs';
import { readGguf } from '../../../src/files/gguf/gguf.ts';
import { memorySource } from '../memory-source.ts';
import { writeGguf, type Written, type WrittenTensor } from './write-gguf.ts';

/** A file with all of the tensors of another one, or a part of them. */
export async function rewritten(
  file: string,
  keep: (nth: number) => boolean,
  more: Record<string, Written>,
): Promise<Uint8Array> {
  const { metadata, tensors } = await readGguf(memorySource('m.gguf', readFileSync(file)));
  const kept: WrittenTensor[] = [];
  for (const [nth, { name, shape, source, offset, bytes }] of tensors.entries())
    if (keep(nth)) kept.push({ name, type: 0, shape, bytes: await source.read(offset, bytes) });
  const plain = Object.fromEntries([...metadata].filter(([, value]) => typeof value !== 'object')) as Record<
    string,
    Written
  >;
  const eps = { 'llama.attention.layer_norm_rms_epsilon': { type: 'f32', value: 1e-6 } } as const;
  return writeGguf({ metadata: { ...plain, ...eps, ...more }, tensors: kept });
}
