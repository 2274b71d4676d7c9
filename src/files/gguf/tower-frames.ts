// Patches of two frames, which llama.cpp stores as a tensor for each frame.

import type { TensorEntry } from '../tensors/safetensors.ts';
import { slicedSource } from '../source.ts';
import type { GgufTensor } from './gguf.ts';
import { malformed } from './header-cursor.ts';

export const PATCHES = 'v.patch_embd.weight';
export const SECOND_FRAME = `${PATCHES}.1`;

/** Patches of two frames [rows, channels, 2, patch, patch], of which a file has [rows, channels, patch, patch] each. */
export function joinFrames(file: string, first: TensorEntry, second: GgufTensor): TensorEntry {
  const [rows = 0, channels = 0, ...patch] = first.shape;
  if (second.shape.join() !== first.shape.join() || second.type !== first.dtype || patch.length !== 2)
    throw malformed(
      file,
      `its patches are ${first.dtype} of [${first.shape.join(', ')}] and ${second.type} of [${second.shape.join(', ')}]`,
    );
  const chunk = first.bytes / rows / channels;
  const own = { name: first.source.name, size: first.offset + 2 * first.bytes };
  let joined: Promise<Uint8Array<ArrayBuffer>> | null = null;
  const join = async (): Promise<Uint8Array<ArrayBuffer>> => {
    const all = new Uint8Array(2 * first.bytes);
    const frames = [first, second] as const;
    for (const [frame, { source, offset, bytes }] of frames.entries()) {
      const values = await source.read(offset, bytes);
      for (let i = 0; i < rows * channels; i++)
        all.set(values.subarray(i * chunk, (i + 1) * chunk), (2 * i + frame) * chunk);
    }
    return all;
  };
  const source = slicedSource(own, async (offset, length) => {
    const at = offset - first.offset;
    return (await (joined ??= join())).slice(at, at + length);
  });
  return { ...first, shape: [rows, channels, 2, ...patch], source, bytes: 2 * first.bytes };
}
