// Goldens of weights that several tensors of a file hold together: each case's tensors are those of module `w`.

import { readFileSync } from 'node:fs';
import { readSafetensors, type TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { memorySource } from '../memory-source.ts';

type Tensors = Map<string, TensorEntry>;

export interface CodedGolden {
  tensors: Tensors;
  /** The values of the method's own code [rows, k]. */
  values: Float32Array;
  rows: number;
  k: number;
}

export async function openCodedGolden(name: string): Promise<(of: string) => CodedGolden> {
  const file = readFileSync(new URL(`../../golden/${name}.safetensors`, import.meta.url));
  const { tensors: stored } = await readSafetensors(memorySource('golden', file));
  return (of) => {
    const { offset, bytes, shape } = stored.get(`${of}.values`)!;
    const [rows, k] = shape as [number, number];
    const own = [...stored.values()].flatMap((entry): [string, TensorEntry][] => {
      if (!entry.name.startsWith(`${of}.`) || entry.name.endsWith('.values')) return [];
      const own = `w${entry.name.slice(of.length)}`;
      return [[own, { ...entry, name: own }]];
    });
    const values = new Float32Array(Uint8Array.from(file.subarray(offset, offset + bytes)).buffer);
    return { tensors: new Map(own), values, rows, k };
  };
}

/** A copy of a tensor with other bytes, type or shape. */
export function changed(
  tensors: Tensors,
  name: string,
  change: Partial<TensorEntry> & { data?: Uint8Array },
): Tensors {
  const { data, ...rest } = change;
  const bytes = data ? { source: memorySource('changed', data), offset: 0, bytes: data.length } : {};
  return new Map([...tensors, [name, { ...tensors.get(name)!, ...bytes, ...rest }]]);
}

export function without(tensors: Tensors, name: string): Tensors {
  const left = new Map(tensors);
  left.delete(name);
  return left;
}
