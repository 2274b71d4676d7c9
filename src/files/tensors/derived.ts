// Vectors that are computed from other tensors of a checkpoint as they are read, in place of one that it has.

import { badCheckpoint } from '../error.ts';
import { sourceOf } from '../source.ts';
import { NUMBERS } from './coded-tensor.ts';
import { halfValues } from './half-values.ts';
import type { TensorEntry } from './safetensors.ts';

/** How a class's vectors are computed. */
export interface DerivedVectors {
  /** Matches the name of a tensor that only these vectors need, with the module that has it as its first group. */
  sign: RegExp;
  /** Names within a module: of the vector, and of the others that it is computed from and that nothing else reads. */
  own: string;
  others: readonly string[];
  /** Values of the vector and of the others, in order → its values */
  compute(values: readonly Float32Array[]): Float32Array<ArrayBuffer>;
}

/** The tensors with the computed vectors in place of the stored ones, and without the others. Throws bad_checkpoint where a module lacks one of them. */
export function withDerived(
  tensors: Map<string, TensorEntry>,
  { sign, own, others, compute }: DerivedVectors,
): Map<string, TensorEntry> {
  const made = new Map(tensors);
  for (const name of tensors.keys()) {
    const [, module] = sign.exec(name) ?? [];
    if (module === undefined) continue;
    const names = [own, ...others].map((part) => `${module}.${part}`);
    const missing = names.find((part) => !tensors.has(part));
    if (missing !== undefined)
      throw badCheckpoint(
        `tensor ${missing} is missing, which ${name} needs: fetch the whole checkpoint`,
        missing,
      );
    const entries = names.map((part) => tensors.get(part)!);
    for (const part of names) made.delete(part);
    made.set(names[0]!, derivedVector(entries, compute));
  }
  return made;
}

/** The first entry with the f32 values that are computed of all. Reading them throws bad_checkpoint where one holds no numbers. */
function derivedVector(entries: readonly TensorEntry[], compute: DerivedVectors['compute']): TensorEntry {
  const [own] = entries as [TensorEntry];
  const size = 4 * own.shape.reduce((product, extent) => product * extent, 1);
  let made: Promise<Uint8Array> | null = null;
  const values = async (): Promise<Uint8Array> =>
    new Uint8Array(compute(await Promise.all(entries.map(floatsOf))).buffer);
  const source = sourceOf(
    { name: own.source.name, size },
    async (offset, target) =>
      target.set((await (made ??= values())).subarray(offset, offset + target.length)),
    () => own.source.close(),
  );
  return { ...own, dtype: 'F32', source, offset: 0, bytes: size };
}

async function floatsOf({ name, dtype, source, offset, bytes }: TensorEntry): Promise<Float32Array> {
  if (!NUMBERS.includes(dtype))
    throw badCheckpoint(
      `tensor ${name} is stored as ${dtype}, and ${NUMBERS.join(', ')} are read of it: take the checkpoint from where it was published`,
      name,
    );
  const { buffer } = await source.read(offset, bytes);
  return dtype === 'F32' ? new Float32Array(buffer) : halfValues(new Uint16Array(buffer), dtype);
}
