// Scales, zero points and offsets of groups of k's, which tensors of their own hold, into the layouts of shaders/lib/scales.*.wgsl.

import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';
import type { Region } from '../gpu/tensor.ts';
import type { NumberSource } from './formats.ts';
import { BLOCK, type Matrix, type MatrixPart } from './matrix.ts';
import { writePart } from './part-windows.ts';

/** Rows and groups of k's that a chunk holds, and the distance of their values in it. */
export interface GroupChunk {
  raw: Region;
  rows: number;
  firstRow: number;
  groups: number;
  firstGroup: number;
  /** k's of a group. */
  groupKs: number;
  /** Values from one row to the next, and from one group to the next; of packed zero points, words. */
  rowStride: number;
  groupStride: number;
}

/**
 * Writes scales of a part in f32. `zero`: the zero point of all groups; null: a tensor holds them, or there are none. `behindWords`:
 * the matrix has them behind words of E4M3, as factors.
 */
export function placeScales(
  tape: Tape,
  matrix: Matrix,
  part: MatrixPart,
  chunk: GroupChunk & { source: NumberSource; zero: number | null; behindWords?: boolean },
): void {
  const { source, zero, behindWords = false } = chunk;
  dispatch(tape, matrix, part, chunk, {
    shader: 'place-scales.wgsl',
    params: (_, block) => ({
      SOURCE: source,
      FILL: zero !== null,
      AFTER: behindWords ? (block / WORD_KS) * COLUMNS : 0,
    }),
    zero: zero ?? 0,
  });
}

/** Writes scales of 16 bits of a part, or offsets, bit for bit: the lower or the upper halves of a column's words. */
export function placeHalves(
  tape: Tape,
  matrix: Matrix,
  part: MatrixPart,
  chunk: GroupChunk & { upper: boolean },
): void {
  dispatch(tape, matrix, part, chunk, {
    shader: 'place-halves.wgsl',
    params: () => ({ UPPER: chunk.upper }),
    zero: 0,
  });
}

/** Writes words of four scales of E4M3 of a part, each for 64 k's, before its factors. */
export function placeWords(tape: Tape, matrix: Matrix, part: MatrixPart, chunk: GroupChunk): void {
  dispatch(tape, matrix, part, chunk, { shader: 'place-words.wgsl', params: () => ({}), zero: 0 });
}

/** Writes zero points of a part, packed along rows or in signed bytes. `plus`: added to each word. */
export function placeZeros(
  tape: Tape,
  matrix: Matrix,
  part: MatrixPart,
  chunk: GroupChunk & { form: 'packed' | 'interleaved' | 'bytes'; plus: number },
): void {
  const { form } = chunk;
  dispatch(tape, matrix, part, chunk, {
    shader: 'place-zeros.wgsl',
    params: (bits) => ({ BITS: bits, INTERLEAVED: form === 'interleaved', BYTES: form === 'bytes' }),
    zero: chunk.plus,
  });
}

/** k's of a word of four E4M3, and columns that have a word each beside one another. */
const WORD_KS = 64;
const COLUMNS = 32;
/** Words of 32 columns with a byte each. */
const WORDS_OF_BYTE = 8;

function dispatch(
  tape: Tape,
  matrix: Matrix,
  part: MatrixPart,
  chunk: GroupChunk,
  { shader, params, zero }: { shader: string; params: (bits: number, block: number) => Params; zero: number },
): void {
  writePart(tape, matrix, part, ({ format: { bits, scale }, scales }) => ({
    shader,
    params: {
      ...params(bits, scale!.block),
      SCALED_KS: scale!.block,
      SCALE_WORDS: scale!.bytes * WORDS_OF_BYTE,
    },
    args: {
      rows: chunk.rows,
      first_row: chunk.firstRow - part.firstRow,
      k_groups: chunk.groups,
      first_k_group: chunk.firstGroup,
      group_ks: chunk.groupKs,
      k: matrix.k,
      first_k: part.firstK ?? 0,
      scales_of_row: (matrix.blocks * BLOCK) / scale!.block,
      row_stride: chunk.rowStride,
      group_stride: chunk.groupStride,
      zero,
    },
    bind: { raw: chunk.raw, scales: scales! },
    rows: chunk.rows,
    down: chunk.groups,
  }));
}
