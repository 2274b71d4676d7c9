// Tensors whose rows are computed from those that a file holds, when they are read.

import { sourceOf } from '../source.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';

/** Rows of one number of bytes each. */
export interface ComputedRows {
  rows: number;
  rowBytes: number;
  read(first: number, count: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** `base`: a tensor of the file that they are computed from. Offsets count from its place, so that files are still read in order. */
export function computedTensor(
  base: TensorEntry,
  form: Pick<TensorEntry, 'name' | 'dtype' | 'shape'>,
  { rows, rowBytes, read }: ComputedRows,
): TensorEntry {
  const { offset } = base;
  const bytes = rows * rowBytes;
  const source = sourceOf({ name: base.source.name, size: offset + bytes }, async (at, target) => {
    const first = Math.floor((at - offset) / rowBytes);
    const end = Math.ceil((at - offset + target.length) / rowBytes);
    const begin = at - offset - first * rowBytes;
    target.set((await read(first, end - first)).subarray(begin, begin + target.length));
  });
  return { ...form, source, offset, bytes };
}

/** Rows of several tensors side by side. */
export function sideBySide(parts: readonly ComputedRows[]): ComputedRows {
  const rowBytes = parts.reduce((sum, part) => sum + part.rowBytes, 0);
  return {
    rows: parts[0]!.rows,
    rowBytes,
    async read(first, count) {
      const out = new Uint8Array(count * rowBytes);
      let at = 0;
      for (const part of parts) {
        const own = await part.read(first, count);
        for (let row = 0; row < count; row++)
          out.set(own.subarray(row * part.rowBytes, (row + 1) * part.rowBytes), row * rowBytes + at);
        at += part.rowBytes;
      }
      return out;
    },
  };
}

/** Rows of several tensors one below the other, each in columns of its own among zeros. */
export function onDiagonal(parts: readonly ComputedRows[]): ComputedRows {
  const rowBytes = parts.reduce((sum, part) => sum + part.rowBytes, 0);
  return {
    rows: parts.reduce((sum, part) => sum + part.rows, 0),
    rowBytes,
    async read(first, count) {
      const out = new Uint8Array(count * rowBytes);
      let [above, left] = [0, 0];
      for (const part of parts) {
        const from = Math.max(first, above);
        const end = Math.min(first + count, above + part.rows);
        const own = end > from ? await part.read(from - above, end - from) : out.subarray(0, 0);
        for (let row = from; row < end; row++) {
          const begin = (row - from) * part.rowBytes;
          out.set(own.subarray(begin, begin + part.rowBytes), (row - first) * rowBytes + left);
        }
        above += part.rows;
        left += part.rowBytes;
      }
      return out;
    },
  };
}

/** Rows of numbers that are computed together once. */
export function computedNumbers(
  rows: number,
  columns: number,
  compute: () => Promise<Float32Array>,
): ComputedRows {
  return {
    rows,
    rowBytes: 4 * columns,
    async read(first, count) {
      const all = await compute();
      return new Uint8Array(all.slice(first * columns, (first + count) * columns).buffer);
    },
  };
}
