// The part of a checkpoint's tensors that one of several devices reads, where they divide matrices: each such tensor becomes a smaller one, whose
// bytes are those of its rows, or of ranges within each of its rows. What reads weights sees the smaller tensors alone.

import { badRequest } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import { sourceOf, type ByteSource } from '../../files/source.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import { isFlat, SOURCES, storedBlock } from '../../kernels/formats.ts';
import type { Division, WeightRequest } from '../../models/weights.ts';
import { hasScaleTensor } from './scales.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

/** Bytes that are read one after another: `count` pieces of `length` bytes, the first at `first`, and `stride` from one to the next. */
interface Pieces {
  first: number;
  length: number;
  stride: number;
  count: number;
}

/** Bytes of a file that are read at once to take pieces of them. */
const SPAN_BYTES = 4 * 2 ** 20;

/**
 * The tensors as requests read them: the device's parts of those that requests divide, and all others as they are. Biases that requests of
 * divided sums leave to another device are not among them. Throws bad_request for tensors in formats that are not divided.
 */
export function ownTensors(tensors: Tensors, requests: readonly WeightRequest[]): Tensors {
  const divided = requests.filter(({ division }) => division !== undefined);
  if (divided.length === 0) return tensors;
  const own = new Map(tensors);
  for (const request of divided) {
    const { names, rows, bias, split, k } = request;
    const division = request.division!;
    for (const [i, name] of names.entries()) {
      const entry = tensors.get(name);
      if (entry === undefined) continue;
      const isVector = request.layout === 'vector';
      own.set(
        name,
        split === 'rows' ? partOfColumns(entry, k, division) : partOfRows(entry, rows[i]!, division),
      );
      const biasName = bias?.[i];
      const biasEntry = biasName === undefined ? undefined : tensors.get(biasName);
      if (biasEntry && split === 'columns') own.set(biasName!, partOfRows(biasEntry, rows[i]!, division));
      if (bias === null && split === 'rows' && !isVector) own.delete(name.replace(/weight$/, 'bias'));
    }
  }
  return own;
}

function partOfRows(entry: TensorEntry, rows: number, division: Division): TensorEntry {
  const { ranks } = division;
  refuseFormat(entry, division);
  const [all = 0, ...behind] = entry.shape;
  if (all !== rows * ranks) return entry; // the check of shapes refuses it
  const rowBytes = entry.bytes / all;
  const pieces = rangesOf(division, rows).map(([first, count]): Pieces => ({
    first: first * rowBytes,
    length: count * rowBytes,
    stride: 0,
    count: 1,
  }));
  return partOf(entry, [rows, ...behind], pieces);
}

function partOfColumns(entry: TensorEntry, k: number, division: Division): TensorEntry {
  const { ranks } = division;
  refuseFormat(entry, division);
  const [rows = 0, all = 0, ...behind] = entry.shape;
  if (all !== k * ranks || behind.some((extent) => extent !== 1)) return entry; // the check of shapes refuses it
  const rowBytes = entry.bytes / rows;
  const block = storedBlock(SOURCES[entry.dtype] ?? 'f32')?.values ?? 1;
  const pieces = rangesOf(division, k).map(([first, count]): Pieces => {
    if (first % block !== 0 || count % block !== 0) refuse(entry, division, `in blocks of ${block} inputs`);
    return {
      first: (first * rowBytes) / all,
      length: (count * rowBytes) / all,
      stride: rowBytes,
      count: rows,
    };
  });
  return partOf(entry, [rows, k], pieces);
}

/** Returns the start and the length of the device's part of each range; `size` is the sum of these lengths. */
function rangesOf({ rank, ranks, ranges }: Division, size: number): [first: number, count: number][] {
  let before = 0;
  return (ranges ?? [size]).map((count) => {
    const first = before + rank * count;
    before += ranks * count;
    return [first, count];
  });
}

/** Ranges within rows follow one another in each row; ranges of rows follow one another as they are. */
function partOf(entry: TensorEntry, shape: number[], pieces: readonly Pieces[]): TensorEntry {
  const { count, stride } = pieces[0]!;
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = length * count;
  const { name, size, close } = entry.source;
  const fill: ByteSource['readInto'] = (offset, target) =>
    stride === 0
      ? readRows(entry, pieces, offset - entry.offset, target)
      : readColumns(entry, { pieces, length, stride }, offset - entry.offset, target);
  return { ...entry, shape, bytes, source: sourceOf({ name, size }, fill, () => close.call(entry.source)) };
}

async function readRows(
  { source, offset }: TensorEntry,
  pieces: readonly Pieces[],
  from: number,
  target: Uint8Array<ArrayBuffer>,
): Promise<void> {
  let before = 0;
  for (const { first, length } of pieces) {
    const begin = Math.max(from, before);
    const end = Math.min(from + target.length, before + length);
    if (begin < end)
      await source.readInto(offset + first + begin - before, target.subarray(begin - from, end - from));
    before += length;
  }
}

/** Reads the rows that the bytes are of, many at once, and takes the ranges from them. */
async function readColumns(
  { source, offset }: TensorEntry,
  { pieces, length, stride }: { pieces: readonly Pieces[]; length: number; stride: number },
  from: number,
  target: Uint8Array<ArrayBuffer>,
): Promise<void> {
  if (from % length !== 0 || target.length % length !== 0)
    throw new Error(`rows of ${length} bytes are read whole, not ${target.length} bytes from ${from} on`);
  const rows = target.length / length;
  const atOnce = Math.max(1, Math.floor(SPAN_BYTES / stride));
  for (let row = 0; row < rows; row += atOnce) {
    const count = Math.min(atOnce, rows - row);
    const span = await source.read(offset + (from / length + row) * stride, count * stride);
    for (let i = 0; i < count; i++) {
      let at = (row + i) * length;
      for (const piece of pieces) {
        target.set(span.subarray(i * stride + piece.first, i * stride + piece.first + piece.length), at);
        at += piece.length;
      }
    }
  }
}

/** Formats in which rows are not whole bytes on their own. */
function refuseFormat(entry: TensorEntry, division: Division): void {
  if (entry.coded) refuse(entry, division, 'in codes whose scales stand in other tensors');
  if (hasScaleTensor(entry)) refuse(entry, division, `as ${entry.dtype} with scales in another tensor`);
  if (isFlat(entry.dtype)) refuse(entry, division, 'in blocks across the ends of rows');
  if (entry.isTransposed === true) refuse(entry, division, 'column by column');
}

function refuse({ name, storedAs = name }: TensorEntry, { ranks }: Division, how: string): never {
  throw badRequest(
    say`tensor ${storedAs} is stored ${how}, which ${option('tpSize')} ${ranks} does not divide: leave ${option('tpSize')} out, or choose a checkpoint in another format`,
    'tpSize',
  );
}
