// Random tensors of a component, in the shapes that its page asks for, and files with them.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  readSafetensors,
  safetensorsHead,
  type Dtype,
  type TensorSpec,
} from '../../../src/files/tensors/safetensors.ts';
import { tensorsOf, type WeightTable } from '../../../src/models/weights.ts';
import { memorySource } from '../../files/memory-source.ts';
import { collect } from '../../../src/engine/weights/collect.ts';

export interface StoredTensor extends TensorSpec {
  bytes: Uint8Array;
}

export type StoredTensors = ReadonlyMap<string, StoredTensor>;

/** Random values in f16 for the tensors that a page reads: about 1 for the weights of norms, else small. */
export function randomTensors(
  pages: readonly ((table: WeightTable) => unknown)[],
  seed: number,
): StoredTensors {
  const tensors = new Map<string, StoredTensor>();
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  for (const page of pages) {
    for (const { name, shape } of collect(new Map(), page).requests.flatMap(tensorsOf)) {
      if (tensors.has(name)) continue;
      const count = shape.reduce((product, size) => product * size, 1);
      const isNorm = shape.length === 1 && name.endsWith('.weight');
      const spread = isNorm ? 0.1 : 1 / Math.sqrt(Math.max(1, count / (shape[0] ?? 1)));
      const bits = new Uint16Array(count);
      for (let at = 0; at < count; at++) bits[at] = halfBits((isNorm ? 1 : 0) + spread * (2 * next() - 1));
      tensors.set(name, { name, dtype: 'F16', shape: [...shape], bytes: new Uint8Array(bits.buffer) });
    }
  }
  return tensors;
}

const number = new Float32Array(1);
const numberBits = new Uint32Array(number.buffer);

/** Bits of the f16 towards zero of a number below 2; numbers below the smallest normal f16 become zero. */
function halfBits(value: number): number {
  number[0] = value;
  const bits = numberBits[0]!;
  const magnitude = (bits & 0x7fffffff) - (112 << 23);
  return ((bits >>> 16) & 0x8000) | (magnitude < 1 << 23 ? 0 : magnitude >>> 13);
}

/** Tensors of a safetensors file. */
export async function readTensors(file: string): Promise<StoredTensors> {
  const bytes = readFileSync(file);
  const { tensors } = await readSafetensors(memorySource(file, bytes));
  return new Map(
    [...tensors].map(([name, { dtype, shape, offset, bytes: size }]) => [
      name,
      { name, dtype: dtype as Dtype, shape, bytes: Uint8Array.from(bytes.subarray(offset, offset + size)) },
    ]),
  );
}

export function writeTensors(
  file: string,
  tensors: Iterable<StoredTensor>,
  metadata: Record<string, string> = {},
): string {
  const all = [...tensors];
  writeFileSync(file, Buffer.concat([safetensorsHead(all, metadata), ...all.map(({ bytes }) => bytes)]));
  return file;
}

/** Writes a component of a pipeline in the diffusers layout. */
export function writeComponent(folder: string, config: object, tensors: StoredTensors): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeTensors(join(folder, 'model.safetensors'), tensors.values());
}

/** Random tensors of these shapes in F32, whose names begin with `name`. */
export function randomFactors(name: string, shapes: Readonly<Record<string, number[]>>): StoredTensor[] {
  let state = name.length;
  return Object.entries(shapes).map(([part, shape]) => {
    const values = Float32Array.from({ length: shape.reduce((all, size) => all * size, 1) }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state / 2 ** 32 - 0.5) * 0.2;
    });
    return { name: `${name}.${part}`, dtype: 'F32', shape, bytes: new Uint8Array(values.buffer) };
  });
}
