// Lays out codes that a tensor of its own holds in words, bit for bit.

import type { Tape } from '../gpu/tape.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';
import type { Matrix, MatrixPart } from './matrix.ts';
import { writePart } from './part-windows.ts';

/**
 * Order of codes in words of 32 bits: rows: [rows][k words]; pairs: so, with the first of two k's in the upper half of a byte; columns:
 * [k words][rows]; interleaved: [k][row words], eight rows in the order 0, 2, 4, 6, 1, 3, 5, 7.
 */
export type CodeLayout = 'rows' | 'pairs' | 'columns' | 'interleaved';

export interface CodeChunk {
  raw: Region;
  layout: CodeLayout;
  /** Codes are signed: half of their range is added. */
  signed: boolean;
  /** Rows and k's of the tensor. */
  rows: number;
  /** Rows of the file's tensor in the chunk, from `firstRow` on: rows, words of k's, or k's. */
  firstRow: number;
  count: number;
  /** The place of each k among those as packed, u32 [1, k]; null: k's stay in order. */
  places: Tensor | null;
}

/** Writes the codes of a chunk that belong to a part into the windows that it reaches. */
export function placeCodes(tape: Tape, matrix: Matrix, part: MatrixPart, chunk: CodeChunk): void {
  const { raw, layout, signed, rows, firstRow, count, places } = chunk;
  const isByRow = layout === 'rows' || layout === 'pairs';
  const rowsAtOnce = isByRow ? count : rows;
  writePart(tape, matrix, part, ({ format: { bits }, codes }) => {
    const per = 32 / bits;
    const ks = isByRow ? matrix.k : layout === 'columns' ? count * per : count;
    return {
      shader: 'place-codes.wgsl',
      params: { LAYOUT: layout, BITS: bits, SIGNED: signed, PLACES: places ? 'ordered' : 'in-order' },
      args: {
        rows: rowsAtOnce,
        first_row: (isByRow ? firstRow : 0) - part.firstRow,
        first_k: isByRow ? 0 : layout === 'columns' ? firstRow * per : firstRow,
        words: isByRow ? matrix.k / per : layout === 'columns' ? rows : rows / per,
        blocks: matrix.blocks,
      },
      bind: { raw, codes, ...(places ? { places } : {}) },
      rows: rowsAtOnce,
      down: ks / per,
    };
  });
}
