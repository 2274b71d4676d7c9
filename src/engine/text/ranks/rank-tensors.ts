// A checkpoint as one of several ranks reads it: the rows of matrices that are split by outputs, and the columns of those that are split by inputs.

import { unsupported } from '../../../files/error.ts';
import { option, say } from '../../../files/message.ts';
import { slicedSource, type ByteSource } from '../../../files/source.ts';
import type { TensorEntry } from '../../../files/tensors/safetensors.ts';
import type { WeightRequest } from '../../../models/weights.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

/** A part of what is divided by `ranks`. */
export interface RankPart {
  rank: number;
  ranks: number;
}

/** The tensors of a rank; `requests`: those of the page of the whole model. Throws unsupported for weights that are not stored as plain numbers. */
export function rankTensors(tensors: Tensors, requests: readonly WeightRequest[], part: RankPart): Tensors {
  const own = new Map(tensors);
  for (const { names, bias, role, split, mayBeTied } of requests) {
    if (role !== 'linear' || split === 'none' || mayBeTied) continue;
    for (const name of names) {
      const entry = plain(tensors.get(name)!, part);
      own.set(name, split === 'columns' ? rowsOf(entry, part) : columnsOf(entry, part));
    }
    for (const name of (split === 'columns' && bias) || [])
      own.set(name, rowsOf(plain(tensors.get(name)!, part), part));
  }
  return own;
}

/** The number of values that a page reads. */
export function valuesOf(requests: readonly WeightRequest[]): number {
  const each = ({ rows, k, bias }: WeightRequest): number =>
    rows.reduce((sum, count) => sum + count * (k + (bias ? 1 : 0)), 0);
  return requests.reduce((sum, request) => sum + each(request), 0);
}

const BYTES: Readonly<Record<string, number>> = { F32: 4, F16: 2, BF16: 2 };

function plain(entry: TensorEntry, { ranks }: RankPart): TensorEntry {
  if (!entry.coded && !entry.isTransposed && entry.dtype in BYTES) return entry;
  throw unsupported(
    say`${entry.name} is stored as ${entry.dtype}, and ${option('tpSize')} ${ranks} divides matrices in F32, F16 and BF16: take the unquantized checkpoint, whose weights ${option('quantization')} packs, or leave the option out`,
    'tpSize',
  );
}

function rowsOf(entry: TensorEntry, { rank, ranks }: RankPart): TensorEntry {
  const [rows, ...others] = entry.shape as [number, ...number[]];
  const bytes = entry.bytes / ranks;
  return { ...entry, shape: [rows / ranks, ...others], offset: entry.offset + rank * bytes, bytes };
}

function columnsOf(entry: TensorEntry, { rank, ranks }: RankPart): TensorEntry {
  const [rows, k] = entry.shape as [number, number];
  const bytes = entry.bytes / ranks;
  const { source, offset } = entry;
  const lines = {
    source,
    offset,
    whole: entry.bytes / rows,
    own: bytes / rows,
    before: (rank * bytes) / rows,
  };
  const read: ByteSource['read'] = (from, length) => readColumns(lines, from, length);
  return {
    ...entry,
    shape: [rows, k / ranks],
    source: slicedSource({ name: source.name, size: bytes }, read),
    offset: 0,
    bytes,
  };
}

interface Lines {
  source: ByteSource;
  offset: number;
  /** Bytes of a row as stored, of its part, and before that part. */
  whole: number;
  own: number;
  before: number;
}

/** Reads the rows that a range of the parts touches at once. */
async function readColumns(
  { source, offset, whole, own, before }: Lines,
  from: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const first = Math.floor(from / own);
  const end = Math.ceil((from + length) / own);
  const stored = await source.read(offset + first * whole, (end - first) * whole);
  const parts = new Uint8Array((end - first) * own);
  for (let row = 0; row < end - first; row++) {
    const at = row * whole + before;
    parts.set(stored.subarray(at, at + own), row * own);
  }
  return parts.slice(from - first * own, from - first * own + length);
}
