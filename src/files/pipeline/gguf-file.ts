// GGUF files of image models, whose tensors keep the names of the model that was converted: those of ComfyUI-GGUF, which state the shapes that
// tensors had before their values were laid out in rows of whole blocks, and those of stable-diffusion.cpp.

import { unsupported } from '../error.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import type { GgufTensor } from '../gguf/gguf.ts';
import { malformed } from '../gguf/header-cursor.ts';
import type { GgufKeys } from '../gguf/keys.ts';
import { openGgufFiles } from '../gguf/open-files.ts';
import { blockValues, isNeverRead } from '../tensors/tensor-types.ts';
import { keepingOpen, type ByteSource, type Folder } from '../source.ts';

interface GgufTensors {
  tensors: Map<string, TensorEntry>;
  sources: ByteSource[];
  /** general.architecture; null: the file does not say. */
  architecture: string | null;
  hasTokenizer: boolean;
}

/** On an error nothing stays open. Throws unsupported for types that are never computed. */
export async function openGgufTensors(folder: Folder, name: string): Promise<GgufTensors> {
  const { keys, tensors, sources } = await openGgufFiles(folder, name);
  return keepingOpen(sources, () => {
    const entries = new Map<string, TensorEntry>();
    for (const tensor of tensors.values()) entries.set(tensor.name, entryOf(keys, tensor, tensors));
    const stated = keys.get('general.architecture');
    const hasTokenizer = keys.get('tokenizer.ggml.tokens') !== undefined;
    return {
      tensors: entries,
      sources,
      architecture: typeof stated === 'string' ? stated : null,
      hasTokenizer,
    };
  });
}

type Tensors = ReadonlyMap<string, GgufTensor>;

function entryOf(keys: GgufKeys, tensor: GgufTensor, all: Tensors): TensorEntry {
  const { name, type, source, offset, bytes } = tensor;
  if (isNeverRead(type)) {
    throw unsupported(
      `${keys.file}: tensor ${name} is stored as ${type}, which is not read: fetch the file of another quantization of the model, as Q4_K_M, IQ4_XS, Q3_K_M or Q2_K`,
      name,
    );
  }
  const shape = originalShape(keys, tensor) ?? kernelShape(tensor, all) ?? tensor.shape;
  const block = blockValues(type);
  // Rows of a matrix that are whole blocks are computed in their codes, and other tensors as numbers.
  const isFlat = block > 1 && (shape.length !== 2 || shape[1]! % block !== 0);
  return { name, dtype: isFlat ? `FLAT_${type}` : type, shape: [...shape], source, offset, bytes };
}

/** The shape that a tensor had before its values were laid out in rows of whole blocks; null: the one that it has. */
function originalShape(keys: GgufKeys, { name, shape }: GgufTensor): readonly number[] | null {
  const key = `comfy.gguf.orig_shape.${name}`;
  const stated = keys.get(key);
  if (stated === undefined) return null;
  const sizes = typeof stated === 'object' ? Array.from(stated as ArrayLike<unknown>, Number) : [];
  const count = (extents: readonly number[]): number => extents.reduce((product, size) => product * size, 1);
  const fits = sizes.length > 0 && sizes.every((size) => Number.isSafeInteger(size) && size > 0);
  if (fits && count(sizes) === count(shape)) return sizes;
  throw malformed(
    keys.file,
    `${key} is [${sizes.join(', ').slice(0, 80)}], and the tensor has [${shape.join(', ')}]`,
  );
}

/**
 * The shape of a kernel over time that stable-diffusion.cpp has as [out · in, frames, height, width], since ggml's tensors have four dimensions: its
 * bias tells how many are out; null: it is none.
 */
function kernelShape({ name, shape }: GgufTensor, all: Tensors): readonly number[] | null {
  const [both = 0, ...kernel] = shape;
  const bias = all.get(name.replace(/\.weight$/, '.bias'))?.shape ?? [];
  const out = bias.length === 1 ? bias[0]! : both;
  return kernel.length === 3 && both !== out && both % out === 0 ? [out, both / out, ...kernel] : null;
}
