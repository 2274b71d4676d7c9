// The order in which nunchaku's files hold values: that in which 32 lanes of a matrix unit load tiles of 128 rows, and in tensors of 4 bits beside
// 16 bits that in which 64 inputs of 4 rows are loaded. Here values get the order of rows back. source: nunchaku's and deepcompressor's packers

import type { ComputedRows } from './computed-rows.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';

/** Rows of a tile. */
export const TILE = 128;
/** Codes in a word. */
const WORD = 8;
/** Adds 8 to each code of a word, modulo 16. */
const PLUS_8 = 0x88888888;

type Read = Pick<TensorEntry, 'source' | 'offset' | 'bytes'>;

/** Bytes of a tensor's tiles, each of `tileBytes`, that rows [first, first + count) lie in; `from`: the first of these rows. */
async function tilesOf(
  { source, offset }: Read,
  tileBytes: number,
  first: number,
  count: number,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; from: number }> {
  const tile = Math.floor(first / TILE);
  const tiles = Math.ceil((first + count) / TILE) - tile;
  return { bytes: await source.read(offset + tile * tileBytes, tiles * tileBytes), from: tile * TILE };
}

/** Codes of 4 bits, [rows][k / 8] words; those of integers get 8 added. */
export function tiledCodes(codes: Read, rows: number, k: number, isSigned: boolean): ComputedRows {
  const words = k / WORD;
  const flip = isSigned ? PLUS_8 : 0;
  return {
    rows,
    rowBytes: k / 2,
    async read(first, count) {
      const { bytes, from } = await tilesOf(codes, (TILE * k) / 2, first, count);
      const stored = new Uint32Array(bytes.buffer);
      const out = new Uint32Array(count * words);
      for (let i = 0; i < count; i++) {
        const row = first + i - from;
        // Of a tile [64 k's][16 rows][row of 8][lane of 4][half of 16 rows][half of 64 k's].
        const base =
          (row >> 7) * TILE * words + (((row >> 4) & 7) * 8 + (row & 7)) * 16 + ((row >> 3) & 1) * 2;
        for (let word = 0; word < words; word++) {
          const at = base + (word >> 3) * 1024 + (word & 3) * 4 + ((word >> 2) & 1);
          out[i * words + word] = stored[at]! ^ flip;
        }
      }
      return new Uint8Array(out.buffer);
    },
  };
}

/** The place of a row of a tile among 128 values of 16 bits. */
const placeIn = (row: number): number => {
  const [sixteen, half, pair] = [row >> 4, (row >> 3) & 1, (row >> 1) & 3];
  return sixteen * 16 + pair * 4 + half * 2 + (row & 1);
};
const PLACES = Uint8Array.from({ length: TILE }, (_, row) => placeIn(row));

/** Values of 16 bits for each row and group of k's, [rows][groups]. */
export function tiledHalves(scales: Read, rows: number, groups: number): ComputedRows {
  return {
    rows,
    rowBytes: 2 * groups,
    async read(first, count) {
      const { bytes, from } = await tilesOf(scales, 2 * TILE * groups, first, count);
      const stored = new Uint16Array(bytes.buffer);
      const out = new Uint16Array(count * groups);
      for (let i = 0; i < count; i++) {
        const row = first + i - from;
        const base = (row >> 7) * TILE * groups + PLACES[row & 127]!;
        for (let group = 0; group < groups; group++) out[i * groups + group] = stored[base + group * TILE]!;
      }
      return new Uint8Array(out.buffer);
    },
  };
}

/** A vector of 16 bits. */
export async function tiledVector(vector: Read, size: number): Promise<Uint16Array> {
  return new Uint16Array((await tiledHalves(vector, size, 1).read(0, size)).buffer);
}

/** E4M3 scales of 16 k's, [rows][k / 16] bytes. */
export function tiledBytes(scales: Read, rows: number, groups: number): ComputedRows {
  return {
    rows,
    rowBytes: groups,
    async read(first, count) {
      const { bytes: stored, from } = await tilesOf(scales, TILE * groups, first, count);
      const out = new Uint8Array(count * groups);
      for (let i = 0; i < count; i++) {
        const row = first + i - from;
        // Of a tile [64 k's][row of 8][eight of 4][32 rows of 4][16 k's of 4].
        const place = ((row & 7) * 4 + ((row >> 3) & 3)) * 4 + ((row >> 5) & 3);
        const base = (row >> 7) * TILE * groups + place * 4;
        for (let group = 0; group < groups; group++)
          out[i * groups + group] = stored[base + (group >> 2) * TILE * 4 + (group & 3)]!;
      }
      return out;
    },
  };
}

/** The place of a value in a tile of 16 rows and 16 columns of a factor. */
const FACTOR_PLACES = Uint8Array.from({ length: 256 }, (_, i) => {
  const [row, column] = [i >> 4, i & 15];
  return (row & 7) * 32 + ((column >> 1) & 3) * 8 + (row >> 3) * 4 + (column >> 3) * 2 + (column & 1);
});

/** A factor of 16 bits, [rows][columns]. `isDown`: tiles with the same columns follow one another, else those with the same rows. */
export function tiledFactor(factor: Read, rows: number, columns: number, isDown: boolean): ComputedRows {
  const [down, across] = [rows / 16, columns / 16];
  return {
    rows,
    rowBytes: 2 * columns,
    async read(first, count) {
      const stored = new Uint16Array((await factor.source.read(factor.offset, factor.bytes)).buffer);
      const out = new Uint16Array(count * columns);
      for (let i = 0; i < count; i++) {
        const row = first + i;
        for (let column = 0; column < columns; column++) {
          const [r, c] = [row >> 4, column >> 4];
          const tile = isDown ? c * down + r : r * across + c;
          const place = FACTOR_PLACES[((row & 15) << 4) | (column & 15)]!;
          out[i * columns + column] = stored[tile * 256 + place]!;
        }
      }
      return new Uint8Array(out.buffer);
    },
  };
}

/** The file's row for each row that is asked for. */
export type RowOrder = (row: number) => number;

/** Rows from `first` to `end` of a file, of those that are asked for. */
function spanOf(order: RowOrder, first: number, count: number): { low: number; high: number } {
  let [low, high] = [Infinity, 0];
  for (let i = 0; i < count; i++) {
    low = Math.min(low, order(first + i));
    high = Math.max(high, order(first + i) + 1);
  }
  return { low, high };
}

/** Codes without sign of matrices whose inputs are not rounded, [rows][k / 8] words: in the file four rows take turns every 64 k's. */
export function interleavedCodes(codes: Read, rows: number, k: number, order: RowOrder): ComputedRows {
  const fourBytes = 2 * k;
  return {
    rows,
    rowBytes: k / 2,
    async read(first, count) {
      const { low, high } = spanOf(order, first, count);
      const from = low >> 2;
      const length = (((high + 3) >> 2) - from) * fourBytes;
      const bytes = await codes.source.read(codes.offset + from * fourBytes, length);
      const stored = new Uint16Array(bytes.buffer);
      const out = new Uint8Array((count * k) / 2);
      for (let i = 0; i < count; i++) {
        const row = order(first + i) - 4 * from;
        const base = (row >> 2) * k + (row & 3) * 16;
        for (let at = 0; at < k; at += 2) {
          // Of 64 k's a row has two times eight words of 16 bits, of which each holds every eighth of 32 k's.
          const word = base + (at >> 6) * 64 + ((at >> 5) & 1) * 8;
          const shift = ((at >> 3) & 3) * 4;
          const low4 = (stored[word + (at & 7)]! >> shift) & 15;
          const high4 = (stored[word + (at & 7) + 1]! >> shift) & 15;
          out[(i * k + at) >> 1] = low4 | (high4 << 4);
        }
      }
      return out;
    },
  };
}

/** Values of 16 bits that a file holds as [groups][all rows], as [rows][groups]. */
export function turnedHalves(values: Read, rows: number, groups: number, order: RowOrder): ComputedRows {
  return {
    rows,
    rowBytes: 2 * groups,
    async read(first, count) {
      const stored = new Uint16Array((await values.source.read(values.offset, 2 * groups * rows)).buffer);
      const out = new Uint16Array(count * groups);
      for (let i = 0; i < count; i++)
        for (let group = 0; group < groups; group++)
          out[i * groups + group] = stored[group * rows + order(first + i)]!;
      return new Uint8Array(out.buffer);
    },
  };
}
