// Replaces the tensors of quantized weights, which several tensors hold each, by one entry a weight under the name that models ask for.

import type { TensorEntry } from '../tensors/safetensors.ts';
import { broken, codedDtype, type CodedReader, type CodedTensors } from '../tensors/coded-tensor.ts';
import { readerOf, type Declared } from './methods.ts';

type Tensors = Map<string, TensorEntry>;
type Statements = ReadonlyMap<string, Uint8Array>;

/** Reads tensors that describe others, then folds. Throws as foldCoded. */
export async function readCoded(tensors: Tensors, declared: Declared | null): Promise<Tensors> {
  const reader = declared && readerOf(declared);
  return reader ? foldCoded(tensors, declared, await readStatements(reader, tensors)) : tensors;
}

/**
 * `declared`: the quantization that a folder's files state; null: none. `statements`: the bytes of tensors that describe others, by name.
 * Throws bad_checkpoint and unsupported, see CodedReader.
 */
export function foldCoded(
  stored: Tensors,
  declared: Declared | null,
  statements: Statements = new Map(),
): Tensors {
  const reader = declared && readerOf(declared);
  if (!reader) return stored;
  const tensors = reader.rearrange?.(stored) ?? stored;
  const folded = new Map(tensors);
  const modules = [...tensors.values()].map((tensor) => reader.moduleOf(tensor));
  for (const module of new Set(modules)) {
    if (module === null) continue;
    const { rows, k, coded } = reader.read(module, tensors, statements);
    const parts = partsOf(coded);
    for (const { name } of parts) folded.delete(name);
    for (const left of reader.redundant ?? []) folded.delete(module + left);
    const name = `${module}.weight`;
    const { source, offset } = coded.codes;
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    const dtype = codedDtype(name, coded, k);
    folded.set(name, { name, dtype, shape: [rows, k], source, offset, bytes, coded });
  }
  return folded;
}

function partsOf({ codes, scales, zeros, offsets, groupOf }: CodedTensors<TensorEntry>): TensorEntry[] {
  const zeroEntry = zeros !== null && typeof zeros !== 'number' ? [zeros.entry] : [];
  return [codes, scales, ...zeroEntry, ...(offsets ? [offsets] : []), ...(groupOf ? [groupOf] : [])];
}

/** The largest tensor that describes others: bitsandbytes' take about 200 bytes, groups of inputs four an input. */
const MOST_STATED_BYTES = 2 ** 20;
/** Reads at once. Over a network each is a request. */
const READS_AT_ONCE = 16;

async function readStatements(reader: CodedReader, tensors: Tensors): Promise<Statements> {
  const wanted = [...tensors.values()].filter((tensor) => reader.isStatement?.(tensor));
  const large = wanted.find(({ bytes }) => bytes > MOST_STATED_BYTES);
  if (large)
    throw broken(
      large.name,
      `tensor ${large.name} describes another and has ${large.bytes} bytes, above the ${MOST_STATED_BYTES} that are read`,
    );
  const found = new Map<string, Uint8Array>();
  for (let first = 0; first < wanted.length; first += READS_AT_ONCE) {
    const chunk = wanted.slice(first, first + READS_AT_ONCE);
    const read = chunk.map(({ source, offset, bytes }) => source.read(offset, bytes));
    (await Promise.all(read)).forEach((bytes, i) => found.set(chunk[i]!.name, bytes));
  }
  return found;
}
