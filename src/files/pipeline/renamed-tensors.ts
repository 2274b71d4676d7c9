// Tensors of a file under the names that pages ask for: parts of fused tensors, transposed matrices, and tensors that pages do not read.

import { EngineError } from '../error.ts';
import type { TensorEntry } from '../checkpoint/safetensors.ts';
import type { NamedRows, Rename } from './file-layout.ts';

/** `tensors`: those of one component by their names without prefix. Throws bad_checkpoint for two tensors that become one. */
export function renameTensors(
  tensors: ReadonlyMap<string, TensorEntry>,
  rename: Rename,
): Map<string, TensorEntry> {
  const renamed = new Map<string, TensorEntry>();
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

function partOf(entry: TensorEntry, { name, rows, isTransposed }: NamedRows): TensorEntry {
  const stored = { ...entry, name, storedAs: entry.storedAs ?? entry.name };
  const { shape, bytes, offset } = entry;
  if (isTransposed) {
    if (shape.length !== 2)
      throw broken(entry, `has the shape [${shape.join(', ')}], and a matrix is needed`);
    return { ...stored, shape: shape.toReversed(), isTransposed: true };
  }
  if (rows === undefined) return stored;
  const [all = 0, ...behind] = shape;
  const rowBytes = bytes / all;
  if (!Number.isInteger(rows.first) || !Number.isInteger(rows.count) || rows.first + rows.count > all)
    throw broken(entry, `has ${all} rows, which cannot be split into equal parts`);
  return {
    ...stored,
    shape: [rows.count, ...behind],
    offset: offset + rows.first * rowBytes,
    bytes: rows.count * rowBytes,
  };
}

function broken({ name, storedAs = name, source }: TensorEntry, problem: string): EngineError {
  return new EngineError(
    'bad_checkpoint',
    `${source.name}: tensor ${storedAs} ${problem}: take the file from where the model was published`,
    { param: storedAs },
  );
}

/** Names of `count` tensors that follow each other as the rows of one. */
export function equalRows(names: readonly string[], shape: readonly number[]): NamedRows[] {
  const count = (shape[0] ?? 0) / names.length;
  return names.map((name, i) => ({ name, rows: { first: i * count, count } }));
}
