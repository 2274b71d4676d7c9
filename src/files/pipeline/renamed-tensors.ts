// Tensors of a file under the names that pages ask for: parts of fused tensors, transposed matrices, and tensors that pages do not read.

import { badCheckpoint, type EngineError } from '../error.ts';
import type { CodedTensors } from '../tensors/coded-tensor.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import type { FileTensor } from './float8-tensors.ts';
import { turned } from '../tensors/turned.ts';
import type { NamedRows, Rename } from './file-layout.ts';

/** `tensors`: those of one component by their names without prefix. Throws bad_checkpoint for two tensors that become one. */
export function renameTensors(
  tensors: ReadonlyMap<string, FileTensor>,
  rename: Rename,
): Map<string, FileTensor> {
  const renamed = new Map<string, FileTensor>();
  for (const [name, entry] of tensors) {
    const names = rename(name, entry.shape);
    const parts = typeof names === 'string' ? [{ name: names }] : names;
    for (const part of parts) {
      const other = renamed.get(part.name);
      if (other !== undefined)
        throw broken(entry, `and ${other.storedAs ?? other.name} both hold ${part.name}`);
      renamed.set(part.name, partOf(entry, part));
    }
  }
  return renamed;
}

function partOf(entry: FileTensor, { name, rows, isTransposed, isSingle }: NamedRows): FileTensor {
  const stored = { ...entry, name, storedAs: entry.storedAs ?? entry.name };
  const { shape, bytes, offset } = entry;
  if (isTransposed) {
    if (shape.length !== 2 || !NUMBERS.includes(entry.dtype))
      throw broken(
        entry,
        `has the shape [${shape.join(', ')}] as ${entry.dtype}, and a matrix of numbers is needed`,
      );
    return turned(stored);
  }
  if (isSingle) return shape.length === 3 && shape[0] === 1 ? { ...stored, shape: shape.slice(1) } : stored;
  if (rows === undefined) return stored;
  const [all = 0, ...behind] = shape;
  const rowBytes = bytes / all;
  const isWhole =
    Number.isInteger(rows.first) && Number.isInteger(rows.count) && rows.first + rows.count <= all;
  if (!isWhole || !Number.isInteger(rows.first * rowBytes) || entry.dtype.startsWith('FLAT'))
    throw broken(
      entry,
      `has ${all} rows in ${bytes} bytes of ${entry.dtype}, which cannot be split into equal parts`,
    );
  const part = {
    ...stored,
    shape: [rows.count, ...behind],
    offset: offset + rows.first * rowBytes,
    bytes: rows.count * rowBytes,
  };
  const { coded, scaledBy } = entry;
  if (scaledBy && scaledBy.shape[0] === all) return { ...part, scaledBy: rowsOf(scaledBy, rows) };
  if (!coded) return part;
  const own = codedRows(entry, coded, { name, ...rows });
  return { ...part, coded: own, offset: own.codes.offset, bytes: own.codes.bytes + own.scales.bytes };
}

const NUMBERS: readonly string[] = ['F32', 'F16', 'BF16'];

/** Rows of codes and scales that are stored row by row, under names of their own. */
function codedRows(
  entry: FileTensor,
  coded: CodedTensors<TensorEntry>,
  { name, ...rows }: { name: string; first: number; count: number },
): CodedTensors<TensorEntry> {
  const { layout, codes, scales, zeros, offsets, groupOf, order } = coded;
  const isByRow = (layout === 'rows' || layout === 'pairs') && (zeros === null || typeof zeros === 'number');
  if (!isByRow || groupOf !== null || order !== null)
    throw broken(entry, 'holds several matrices in codes that are not stored row by row');
  return {
    ...coded,
    codes: { ...rowsOf(codes, rows), name },
    scales: { ...rowsOf(scales, rows), name: `${name}.scales` },
    ...(offsets && { offsets: { ...rowsOf(offsets, rows), name: `${name}.offsets` } }),
  };
}

function rowsOf(entry: TensorEntry, { first, count }: { first: number; count: number }): TensorEntry {
  const [all = 1, ...behind] = entry.shape;
  const rowBytes = entry.bytes / all;
  return {
    ...entry,
    shape: [count, ...behind],
    offset: entry.offset + first * rowBytes,
    bytes: count * rowBytes,
  };
}

/** Tensors with the scales of their codes as tensors of their own, named as in FP8 checkpoints of transformers. */
export function withScales(tensors: ReadonlyMap<string, FileTensor>): Map<string, TensorEntry> {
  const all = new Map<string, TensorEntry>();
  for (const [name, { scaledBy, ...entry }] of tensors) {
    all.set(name, entry);
    const scale = `${name}_scale`;
    if (scaledBy) all.set(scale, { ...scaledBy, name: scale, storedAs: scaledBy.storedAs ?? scaledBy.name });
  }
  return all;
}

function broken({ name, storedAs = name, source }: TensorEntry, problem: string): EngineError {
  return badCheckpoint(
    `${source.name}: tensor ${storedAs} ${problem}: take the file from where the model was published`,
    storedAs,
  );
}

/** Names of `count` tensors that follow each other as the rows of one. */
export function equalRows(names: readonly string[], shape: readonly number[]): NamedRows[] {
  const count = (shape[0] ?? 0) / names.length;
  return names.map((name, i) => ({ name, rows: { first: i * count, count } }));
}
