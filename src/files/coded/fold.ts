// Replaces the tensors of quantized weights, which several tensors hold each, by one entry a weight under the name that models ask for.

import type { TensorEntry } from '../checkpoint/safetensors.ts';
import { codedDtype, type CodedTensors } from './coded-tensor.ts';
import { readerOf, type Declared } from './methods.ts';

type Tensors = Map<string, TensorEntry>;

/** `declared`: the quantization that a folder's files state; null: none. Throws bad_checkpoint and unsupported, see CodedReader. */
export function foldCoded(tensors: Tensors, declared: Declared | null): Tensors {
  const reader = declared && readerOf(declared);
  if (!reader) return tensors;
  const folded = new Map(tensors);
  for (const tensor of tensors.values()) {
    const module = reader.moduleOf(tensor);
    if (module === null) continue;
    const { rows, k, coded } = reader.read(module, tensors);
    const parts = partsOf(coded);
    for (const { name } of parts) folded.delete(name);
    for (const left of reader.redundant ?? []) folded.delete(module + left);
    const name = `${module}.weight`;
    const { source, offset } = coded.codes;
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    const dtype = codedDtype(name, coded, k);
    folded.set(name, { name, dtype, shape: [rows, k], source, offset, bytes, coded });
  }
  return folded;
}

function partsOf({ codes, scales, zeros, groupOf }: CodedTensors<TensorEntry>): TensorEntry[] {
  return [codes, scales, ...(typeof zeros === 'number' ? [] : [zeros.entry]), ...(groupOf ? [groupOf] : [])];
}
