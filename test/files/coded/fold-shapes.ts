// Headers of a module's tensors, folded into one weight.

import { expect } from 'vitest';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { foldCoded } from '../../../src/files/coded/fold.ts';
import { memorySource } from '../memory-source.ts';

/** Types and shapes by the names of tensors within the module; null: none. */
export type Shapes = Record<string, readonly [TensorEntry['dtype'], readonly number[]] | null>;

const source = memorySource('none', new Uint8Array(0));

/** Folds the tensors of module w, of one byte each. */
export function fold(shapes: Shapes, settings: Record<string, unknown>): TensorEntry | undefined {
  const tensors = Object.entries(shapes).flatMap(([of, header]): [string, TensorEntry][] => {
    if (header === null) return [];
    const [dtype, shape] = header;
    const name = `w.${of}`;
    return [[name, { name, dtype, shape: [...shape], source, offset: 0, bytes: 1 }]];
  });
  return foldCoded(new Map(tensors), { method: String(settings['quant_method']), settings }).get('w.weight');
}

export function refusedWith(code: string, message: string, act: () => unknown): void {
  const words = expect.stringContaining(message) as string;
  expect(act).toThrow(expect.objectContaining({ code, message: words }));
}
