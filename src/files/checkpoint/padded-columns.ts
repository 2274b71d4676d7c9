// A matrix with further columns of zeros behind those that its file stores, such as a layer that an adapter widens.

import { assertRange, type ByteSource } from '../source.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';

/** Returns a matrix [rows, k] of numbers as [rows, columns]; one with as many columns is returned unchanged. */
export function withColumns(entry: TensorEntry, columns: number): TensorEntry {
  const [rows = 1, k = 1] = entry.shape;
  if (k >= columns) return entry;
  const rowBytes = entry.bytes / rows;
  const source = new PaddedRows(entry, { rows, rowBytes, padded: (rowBytes / k) * columns });
  return { ...entry, shape: [rows, columns], source, offset: 0, bytes: source.size };
}

interface Sizes {
  rows: number;
  /** Bytes of a row in the file. */
  rowBytes: number;
  /** Bytes of a row with the zeros. */
  padded: number;
}

/** The padded rows of one tensor. Its file is closed by its owner. */
class PaddedRows implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #entry: TensorEntry;
  readonly #sizes: Sizes;

  constructor(entry: TensorEntry, sizes: Sizes) {
    this.name = entry.source.name;
    this.size = sizes.rows * sizes.padded;
    this.#entry = entry;
    this.#sizes = sizes;
  }

  async read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    assertRange(this, offset, length);
    const bytes = new Uint8Array(length);
    await this.readInto(offset, bytes);
    return bytes;
  }

  async readInto(offset: number, target: Uint8Array<ArrayBuffer>): Promise<void> {
    assertRange(this, offset, target.length);
    const { rowBytes, padded } = this.#sizes;
    const first = Math.floor(offset / padded);
    const end = Math.ceil((offset + target.length) / padded);
    const stored = await this.#entry.source.read(
      this.#entry.offset + first * rowBytes,
      (end - first) * rowBytes,
    );
    target.fill(0);
    for (let row = first; row < end; row++) {
      // The part of the row's stored bytes that lies in the range.
      const from = Math.max(0, offset - row * padded);
      const to = Math.min(rowBytes, offset + target.length - row * padded);
      if (from >= to) continue;
      const at = (row - first) * rowBytes;
      target.set(stored.subarray(at + from, at + to), row * padded + from - offset);
    }
  }

  async close(): Promise<void> {}
}
