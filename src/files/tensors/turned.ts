// Matrices as they are read, [rows, k], of tensors that hold them the other way around.

import type { TensorEntry } from './safetensors.ts';

/** An entry [k, rows] as one of [rows, k]. One that is stored column by column already is read row by row then. */
export function turned<Entry extends Pick<TensorEntry, 'shape' | 'isTransposed'>>(entry: Entry): Entry {
  const { isTransposed = false } = entry;
  return { ...entry, shape: entry.shape.toReversed(), isTransposed: !isTransposed };
}
