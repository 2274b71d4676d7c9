// The safetensors layout: 8 bytes little-endian header length, a JSON header, then the tensors back to back. Every statement of the
// header is checked against the file first, because a wrong one would make the loader read other tensors' bytes or allocate without
// limit.

import type { CodedDtype, CodedTensors } from './coded-tensor.ts';
import { badCheckpoint, type EngineError, reasonOf } from '../error.ts';
import { say } from '../message.ts';
import { FETCHING } from '../openers.ts';
import { parseJson } from '../json.ts';
import { duplicateKey } from '../json-keys.ts';
import type { GgufTypeName } from './tensor-types.ts';
import { isRecord, type ByteSource } from '../source.ts';

/** Bits per element of every dtype of the reference implementation. The loader supports fewer of them. */
const DTYPE_BITS = {
  BOOL: 8,
  U8: 8,
  I8: 8,
  F8_E4M3: 8,
  F8_E5M2: 8,
  F8_E8M0: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2FNUZ: 8,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  I64: 64,
  U64: 64,
  F64: 64,
  C64: 64,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
} as const;

export type Dtype = keyof typeof DTYPE_BITS;

export interface TensorSpec {
  name: string;
  dtype: Dtype;
  shape: number[];
}

/** A tensor of a checkpoint, in a safetensors file or in a GGUF file. */
export interface TensorEntry extends Omit<TensorSpec, 'dtype'> {
  /** The name that the file has for it, or for the tensor that it is a part of; left out: `name`. */
  storedAs?: string;
  /** FLAT: blocks of codes run across the ends of rows, or the rows of a convolution. */
  dtype: Dtype | GgufTypeName | `FLAT_${GgufTypeName}` | CodedDtype;
  source: ByteSource;
  /** Offset from the start of the file. */
  offset: number;
  bytes: number;
  /** The tensors that hold the weight together, if it is not one tensor of the file. */
  coded?: CodedTensors<TensorEntry>;
  /** Whether a matrix [rows, k] is stored column by column, as [k, rows]; left out: row by row. */
  isTransposed?: boolean;
}

export interface Safetensors {
  tensors: Map<string, TensorEntry>;
  metadata: Record<string, string>;
}

const PREFIX_BYTES = 8;
/** Maximum size of the pointer file that Git LFS stores in place of a large file. */
const MOST_POINTER_BYTES = 1024;
/** The limit of the reference implementation. */
const MAX_HEADER_BYTES = 100_000_000;

export async function readSafetensors(source: ByteSource): Promise<Safetensors> {
  const { text, dataStart } = await readHeader(source);
  const header = parseHeader(source, text);
  const { __metadata__: stated, ...claims } = header;
  const metadata = stated ?? {};
  if (!isStringRecord(metadata)) throw lie(source, '__metadata__ must map names to strings');
  const entries = Object.entries(claims).map(([name, claim]) => parseEntry(source, name, claim, dataStart));
  assertContiguous(source, entries, dataStart);
  return { tensors: new Map(entries.map((entry) => [entry.name, entry])), metadata };
}

async function readHeader(source: ByteSource): Promise<{ text: string; dataStart: number }> {
  if (source.size < PREFIX_BYTES)
    throw lie(source, `it holds ${source.size} bytes, fewer than the 8 of a header length`);
  const start = await source.read(0, PREFIX_BYTES);
  const length = new DataView(start.buffer).getBigUint64(0, true);
  if (source.size < MOST_POINTER_BYTES && new TextDecoder().decode(start) === 'version ') {
    throw badCheckpoint(
      say`${source.name} is a Git LFS pointer and not the weights that it stands for: run \`git lfs pull\` in the clone, or, for a model of the hub, ${FETCHING}`,
      source.name,
    );
  }
  if (length > MAX_HEADER_BYTES)
    throw lie(source, `its header claims ${length} bytes, more than the ${MAX_HEADER_BYTES} allowed`);
  if (Number(length) > source.size - PREFIX_BYTES) {
    throw lie(source, `its header claims ${length} bytes and the file holds ${source.size}`);
  }
  const bytes = await source.read(PREFIX_BYTES, Number(length));
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text, dataStart: PREFIX_BYTES + bytes.length };
  } catch (cause) {
    throw lie(source, 'its header is not UTF-8', cause);
  }
}

function parseHeader(source: ByteSource, text: string): Record<string, unknown> {
  let header: unknown;
  try {
    header = parseJson(text);
  } catch (cause) {
    throw lie(source, `its header is not JSON (${reasonOf(cause)})`, cause);
  }
  if (!isRecord(header)) throw lie(source, 'its header is not a JSON object');
  const twice = duplicateKey(text);
  if (twice !== null) throw lie(source, `its header names ${JSON.stringify(twice)} twice`);
  return header;
}

function parseEntry(source: ByteSource, name: string, claim: unknown, dataStart: number): TensorEntry {
  const wrong = (reason: string) => lie(source, `tensor ${JSON.stringify(name)}: ${reason}`);
  if (!isRecord(claim)) throw wrong('its entry is not an object');
  const { dtype = null, shape = null, data_offsets: offsets = null } = claim;
  if (typeof dtype !== 'string' || !Object.hasOwn(DTYPE_BITS, dtype)) {
    throw wrong(`dtype ${JSON.stringify(dtype)} is none of ${Object.keys(DTYPE_BITS).join(', ')}`);
  }
  if (!isSizes(shape)) throw wrong(`shape ${JSON.stringify(shape)} is not a list of non-negative integers`);
  if (!isSizes(offsets) || offsets.length !== 2) {
    throw wrong(`data_offsets ${JSON.stringify(offsets)} are not two non-negative integers`);
  }
  const [begin = 0, end = 0] = offsets;
  if (begin > end) throw wrong(`data_offsets ${begin} to ${end} run backwards`);
  if (end > source.size - dataStart) {
    throw wrong(`data_offsets ${begin} to ${end} lie beyond the ${source.size - dataStart} bytes of data`);
  }
  const spec = { name, dtype: dtype as Dtype, shape };
  const bytes = tensorBytes(spec);
  if (bytes !== end - begin) {
    throw wrong(`${dtype} [${shape.join(', ')}] takes ${bytes} bytes and data_offsets span ${end - begin}`);
  }
  return { ...spec, source, offset: dataStart + begin, bytes };
}

/** Checks that each tensor begins where the previous one ended, and that the last one ends with the file. */
function assertContiguous(source: ByteSource, entries: TensorEntry[], dataStart: number): void {
  const placed = entries.toSorted((a, b) => a.offset - b.offset || a.bytes - b.bytes);
  let end = dataStart;
  let before = 'the header';
  for (const { name, offset, bytes } of placed) {
    if (offset < end)
      throw lie(source, `tensor ${JSON.stringify(name)} overlaps ${before} by ${end - offset} bytes`);
    if (offset > end)
      throw lie(
        source,
        `${offset - end} bytes between ${before} and tensor ${JSON.stringify(name)} belong to none`,
      );
    end = offset + bytes;
    before = `tensor ${JSON.stringify(name)}`;
  }
  if (end !== source.size)
    throw lie(source, `${source.size - end} bytes after ${before} belong to no tensor`);
}

/** Returns the bytes of a tensor by dtype and shape; Infinity if no file could contain it. */
export function tensorBytes({ dtype, shape }: Pick<TensorSpec, 'dtype' | 'shape'>): number {
  const bits = shape.reduce((product, size) => product * size, DTYPE_BITS[dtype]);
  return Number.isSafeInteger(bits) ? Math.ceil(bits / 8) : Infinity;
}

/**
 * Returns everything before the data: length and header, padded with spaces so that the data begins at a multiple of 8, or at
 * `room`.
 */
export function safetensorsHead(
  specs: TensorSpec[],
  metadata: Record<string, string> = {},
  room = 0,
): Uint8Array {
  let begin = 0;
  const claims = specs.map((spec): [string, unknown] => {
    const end = begin + tensorBytes(spec);
    const claim = { dtype: spec.dtype, shape: spec.shape, data_offsets: [begin, end] };
    begin = end;
    return [spec.name, claim];
  });
  const listed = Object.keys(metadata).length === 0 ? claims : [['__metadata__', metadata], ...claims];
  const header = new TextEncoder().encode(JSON.stringify(Object.fromEntries(listed)));
  const size = Math.max(room, Math.ceil((PREFIX_BYTES + header.length) / 8) * 8);
  const head = new Uint8Array(size).fill(0x20);
  new DataView(head.buffer).setBigUint64(0, BigInt(size - PREFIX_BYTES), true);
  head.set(header, PREFIX_BYTES);
  return head;
}

function isSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function isStringRecord(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((entry) => typeof entry === 'string');
}

function lie(source: ByteSource, reason: string, cause?: unknown): EngineError {
  return badCheckpoint(
    `${source.name} is not a sound safetensors file: ${reason}; fetch it again`,
    source.name,
    cause,
  );
}
