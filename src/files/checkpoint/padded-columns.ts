// A matrix with further columns of zeros behind those that its file stores, such as a layer that a LoRA widens.

import { sourceOf } from '../source.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';

/** Returns a matrix [rows, k] of numbers as [rows, columns]; one with as many columns is returned unchanged. */
export function withColumns(entry: TensorEntry, columns: number): TensorEntry {
  const [rows = 1, k = 1] = entry.shape;
  if (k >= columns) return entry;
  const rowBytes = entry.bytes / rows;
  /** Bytes of a row with the zeros. */
  const padded = (rowBytes / k) * columns;
  const bytes = rows * padded;
  // The file is closed by its owner.
  const source = sourceOf({ name: entry.source.name, size: bytes }, async (offset, target) => {
    const first = Math.floor(offset / padded);
    const end = Math.ceil((offset + target.length) / padded);
    const stored = await entry.source.read(entry.offset + first * rowBytes, (end - first) * rowBytes);
    target.fill(0);
    for (let row = first; row < end; row++) {
      // The part of the row's stored bytes that lies in the range.
      const from = Math.max(0, offset - row * padded);
      const to = Math.min(rowBytes, offset + target.length - row * padded);
      if (from >= to) continue;
      const at = (row - first) * rowBytes;
      target.set(stored.subarray(at + from, at + to), row * padded + from - offset);
    }
  });
  return { ...entry, shape: [rows, columns], source, offset: 0, bytes };
}
