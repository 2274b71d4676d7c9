// Uploads of weights that several tensors hold together: codes, scales, zero points and offsets, each where the matrix has them.

import type { CodedTensors } from '../../files/tensors/coded-tensor.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import type { NumberSource } from '../../kernels/formats.ts';
import type { Matrix, MatrixPart } from '../../kernels/matrix.ts';
import { placeCodes } from '../../kernels/place-codes.ts';
import {
  placeHalves,
  placeScales,
  placeWords,
  placeZeros,
  type GroupChunk,
} from '../../kernels/place-scales.ts';
import type { Wanted } from './upload.ts';

type Coded = CodedTensors<TensorEntry>;
type Chunk = Parameters<Wanted['place']>[1];

/** Uploads of a part's tensors. The entry must have `coded`. `places`: the place of each input among the k's; null: they are in order. */
export function codedUploads(
  matrix: Matrix,
  part: MatrixPart,
  { coded: stated, shape }: TensorEntry,
  places: Tensor | null,
): Wanted[] {
  const coded = stated!;
  const [rows = 0] = shape;
  const { codes, layout, bits, signed, zeros } = coded;
  return [
    {
      entry: codes,
      // One k of eight rows is a word; as packed, one row of eight k's is.
      rowStep: layout === 'interleaved' ? 32 / bits : 2,
      place: (tape, { raw, firstRow, rows: count }) =>
        placeCodes(tape, matrix, part, { raw, layout, signed, rows, firstRow, count, places }),
    },
    ...scaleUploads(matrix, part, coded, rows),
    ...(zeros === null || typeof zeros === 'number' ? [] : [zeroUpload(matrix, part, coded, zeros, rows)]),
  ];
}

/** Uploads of scales, and of offsets. */
function scaleUploads(matrix: Matrix, part: MatrixPart, coded: Coded, rows: number): Wanted[] {
  const { scales, offsets, zeros } = coded;
  const halves = (entry: TensorEntry, upper: boolean): Wanted => ({
    entry,
    place: (tape, chunk) => placeHalves(tape, matrix, part, { ...scaleChunk(coded, chunk, rows), upper }),
  });
  const floats = (entry: TensorEntry, of: Coded, behindWords = false): Wanted => ({
    entry,
    place: (tape, chunk) =>
      placeScales(tape, matrix, part, {
        ...scaleChunk(of, chunk, rows),
        source: chunk.source as NumberSource,
        zero: typeof zeros === 'number' ? zeros : null,
        behindWords,
      }),
  });
  if (coded.rule === 'nvfp4' && offsets) {
    const words: Wanted = {
      entry: scales,
      place: (tape, chunk) =>
        placeWords(tape, matrix, part, scaleChunk({ ...coded, groupKs: WORD_KS }, chunk, rows)),
    };
    return [words, floats(offsets, { ...coded, scales: offsets }, true)];
  }
  if (offsets) return [halves(scales, false), halves(offsets, true)];
  return [floats(scales, coded)];
}

/** k's of a word of four E4M3. */
const WORD_KS = 64;

const isByRow = ({ layout }: Coded): boolean => layout === 'rows' || layout === 'pairs';

/** Scales in a chunk. One scale of a whole matrix has no distances. */
function scaleChunk(coded: Coded, { raw, firstRow, rows: count }: Chunk, rows: number): GroupChunk {
  const { groupKs, scales } = coded;
  const [first = 1, second = 1] = scales.shape;
  if (first * second === 1)
    return { raw, groupKs, rows, firstRow: 0, groups: 1, firstGroup: 0, rowStride: 0, groupStride: 0 };
  return isByRow(coded)
    ? {
        raw,
        groupKs,
        rows: count,
        firstRow,
        groups: second,
        firstGroup: 0,
        rowStride: second,
        groupStride: 1,
      }
    : {
        raw,
        groupKs,
        rows,
        firstRow: 0,
        groups: count,
        firstGroup: firstRow,
        rowStride: 1,
        groupStride: rows,
      };
}

function zeroUpload(
  matrix: Matrix,
  part: MatrixPart,
  coded: Coded,
  { entry, plus }: Exclude<Coded['zeros'], number | null>,
  rows: number,
): Wanted {
  const { groupKs, layout, bits } = coded;
  const [, across = 1] = entry.shape;
  const isBytes = entry.dtype === 'I8';
  // Rows that one row of the tensor holds.
  const per = isBytes ? 1 : 32 / bits;
  const form = isBytes ? 'bytes' : layout === 'interleaved' ? 'interleaved' : 'packed';
  return {
    entry,
    place(tape, { raw, firstRow, rows: count }) {
      const byRow = { rows: Math.min(count * per, rows - firstRow * per), firstRow: firstRow * per };
      const chunk = isByRow(coded)
        ? { ...byRow, groups: across, firstGroup: 0, rowStride: across, groupStride: 1 }
        : { rows, firstRow: 0, groups: count, firstGroup: firstRow, rowStride: 1, groupStride: across };
      placeZeros(tape, matrix, part, { ...chunk, raw, groupKs, form, plus });
    },
  };
}
