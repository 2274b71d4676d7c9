// The tensors of a GGUF file as the entries that everything behind a checkpoint reads: parts of stacked and fused tensors, heads whose
// rows are stored in pairs, and pixels, in their own order again, and values without what was done to them. Bytes are read as codes: none is decoded.

import { badCheckpoint, type EngineError } from '../error.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import { sourceOf, type ByteSource } from '../source.ts';
import type { GgufTensor } from './gguf.ts';
import type { GgufPart } from './model.ts';

export function entryOf(tensor: GgufTensor, part: GgufPart): TensorEntry {
  const { name, shape, firstRow = 0, pairedHeads, groupedHeads, planes, interleaved, added = 0 } = part;
  // A vector may be a row of a matrix, as the bias of an expert is.
  const rows = shape.length === 1 && tensor.shape.length > 1 ? 1 : rowsOf(shape);
  const rowBytes = tensor.bytes / rowsOf(tensor.shape);
  const isWhole = firstRow === 0 && sizeOf(shape) === sizeOf(tensor.shape);
  const bytes = isWhole ? tensor.bytes : rows * rowBytes;
  if (firstRow * rowBytes + bytes > tensor.bytes) {
    throw broken(
      tensor,
      `has the shape [${tensor.shape.join(', ')}], and ${name} needs [${shape.join(', ')}] of it`,
    );
  }
  const offset = tensor.offset + firstRow * rowBytes;
  const entry = {
    name,
    storedAs: tensor.name,
    dtype: tensor.type,
    shape: [...shape],
    source: tensor.source,
    offset,
    bytes,
  };
  if (pairedHeads !== undefined) {
    if (rows % (2 * pairedHeads) !== 0)
      throw broken(
        tensor,
        `has ${rows} rows, which are not a whole number of pairs for ${pairedHeads} heads`,
      );
    return { ...entry, source: unpaired(entry, rowBytes, rows / pairedHeads) };
  }
  if (groupedHeads !== undefined) {
    const all = groupedHeads.heads + 2 * groupedHeads.kvHeads;
    if (rows % all !== 0) throw broken(tensor, `has ${rows} rows, which ${all} heads cannot share`);
    return { ...entry, source: grouped(entry, (rows / all) * rowBytes, groupedHeads) };
  }
  if (planes !== undefined) {
    if (!(tensor.type in VALUE_BYTES))
      throw broken(tensor, `is stored as ${tensor.type}, and patches need F32, F16 or BF16`);
    return {
      ...entry,
      source: byPixels(entry, {
        rowBytes: shape.length === 1 ? bytes : bytes / rows,
        planes,
        unit: VALUE_BYTES[tensor.type]!,
      }),
    };
  }
  if (interleaved !== undefined) {
    if (rows % interleaved !== 0)
      throw broken(tensor, `has ${rows} rows, which are not ${interleaved} groups of equal size`);
    return { ...entry, source: takingTurns(entry, rowBytes, interleaved) };
  }
  if (part.isSoftplus !== true && added === 0) return entry;
  if (tensor.type !== 'F32')
    throw broken(tensor, `is stored as ${tensor.type}, and its values are changed in F32 only`);
  return { ...entry, source: changed(entry, part.isSoftplus ? beforeSoftplus : (value) => value - added) };
}

/** Of types whose values are stored one by one. */
const VALUE_BYTES: Readonly<Record<string, number>> = { F32: 4, F16: 2, BF16: 2 };

/** Rows of a matrix, or of all matrices of a tensor; values of a vector. */
function rowsOf(shape: readonly number[]): number {
  return sizeOf(shape.length === 1 ? shape : shape.slice(0, -1));
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function broken({ name, source }: GgufTensor, problem: string): EngineError {
  return badCheckpoint(
    `${source.name}: tensor ${name} ${problem}: fetch the file again, or convert the model again`,
    name,
  );
}

type Stored = Pick<TensorEntry, 'source' | 'offset' | 'bytes'>;

/** A source of the same file whose bytes within one tensor are those that `fill` makes. */
function rewritten(
  { source, offset, bytes }: Stored,
  fill: (at: number, target: Uint8Array<ArrayBuffer>) => Promise<void>,
): ByteSource {
  const own = { name: source.name, size: offset + bytes };
  return sourceOf(
    own,
    (from, target) => fill(from - offset, target),
    () => source.close(),
  );
}

/**
 * Rows of each head in the order of transformers: dimension j of the first half, then of the second. llama.cpp stores them in pairs, row
 * 2j of the first half and 2j + 1 of the second, as its rotation takes them.
 */
function unpaired(stored: Stored, rowBytes: number, headRows: number): ByteSource {
  const half = headRows / 2;
  const headBytes = headRows * rowBytes;
  return rewritten(stored, async (at, target) => {
    const firstHead = Math.floor(at / headBytes);
    const lastHead = Math.ceil((at + target.length) / headBytes);
    const start = firstHead * headBytes;
    const paired = await stored.source.read(stored.offset + start, (lastHead - firstHead) * headBytes);
    for (let done = 0; done < target.length;) {
      const row = Math.floor((at + done) / rowBytes);
      const within = (at + done) % rowBytes;
      const inHead = row % headRows;
      const from = row - inHead + (inHead < half ? 2 * inHead : 2 * (inHead - half) + 1);
      const count = Math.min(rowBytes - within, target.length - done);
      const first = from * rowBytes + within - start;
      target.set(paired.subarray(first, first + count), done);
      done += count;
    }
  });
}

/** Rows of each key's queries, of the key and of its value. llama.cpp stores all queries, then all keys, then all values. */
function grouped(
  stored: Stored,
  partBytes: number,
  { heads, kvHeads }: { heads: number; kvHeads: number },
): ByteSource {
  const group = heads / kvHeads;
  return rewritten(stored, async (at, target) => {
    for (let done = 0; done < target.length;) {
      const part = Math.floor((at + done) / partBytes);
      const within = (at + done) % partBytes;
      const [key, inGroup] = [Math.floor(part / (group + 2)), part % (group + 2)];
      const from = inGroup < group ? key * group + inGroup : heads + (inGroup - group) * kvHeads + key;
      const count = Math.min(partBytes - within, target.length - done);
      const first = stored.offset + from * partBytes + within;
      await stored.source.readInto(first, target.subarray(done, done + count));
      done += count;
    }
  });
}

/** log(e^value − 1) */
function beforeSoftplus(value: number): number {
  return value + Math.log(-Math.expm1(-value));
}

/** F32 values, each changed by itself. */
function changed(stored: Stored, change: (value: number) => number): ByteSource {
  return rewritten(stored, async (at, target) => {
    const first = at - (at % 4);
    const end = Math.ceil((at + target.length) / 4) * 4;
    const bytes = await stored.source.read(stored.offset + first, end - first);
    const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    values.forEach((value, i) => (values[i] = change(value)));
    target.set(bytes.subarray(at - first, at - first + target.length));
  });
}

/** Rows of groups that are stored one after another: the first row of each group, then the second. */
function takingTurns(stored: Stored, rowBytes: number, groups: number): ByteSource {
  const groupBytes = stored.bytes / groups;
  return rewritten(stored, async (at, target) => {
    const turnBytes = groups * rowBytes;
    const firstTurn = Math.floor(at / turnBytes);
    const turns = Math.ceil((at + target.length) / turnBytes) - firstTurn;
    const read = Array.from({ length: groups }, (_, group) =>
      stored.source.read(stored.offset + group * groupBytes + firstTurn * rowBytes, turns * rowBytes),
    );
    const rows = await Promise.all(read);
    for (let done = 0; done < target.length;) {
      const row = Math.floor((at + done) / rowBytes) - firstTurn * groups;
      const within = (at + done) % rowBytes;
      const from = Math.floor(row / groups) * rowBytes + within;
      const count = Math.min(rowBytes - within, target.length - done);
      target.set(rows[row % groups]!.subarray(from, from + count), done);
      done += count;
    }
  });
}

interface Pixels {
  rowBytes: number;
  planes: number;
  /** Bytes of a value. */
  unit: number;
}

/** Rows whose values are stored plane by plane, as rows of pixels. */
function byPixels(stored: Stored, { rowBytes, planes, unit }: Pixels): ByteSource {
  const plane = rowBytes / planes;
  return rewritten(stored, async (at, target) => {
    const first = at - (at % rowBytes);
    const end = Math.ceil((at + target.length) / rowBytes) * rowBytes;
    const bytes = await stored.source.read(stored.offset + first, end - first);
    for (let done = 0; done < target.length; done++) {
      const place = at + done - first;
      const within = place % rowBytes;
      const value = Math.floor(within / unit);
      const from = (value % planes) * plane + Math.floor(value / planes) * unit + (within % unit);
      target[done] = bytes[place - within + from]!;
    }
  });
}
