// A GGUF file: magic, version, metadata (key, type, value), the tensors' names, shapes, types and offsets, padding, then their bytes.
// A header is believed only after every claim in it was checked against the file. source: ggml's docs/gguf.md

import { unsupported } from '../error.ts';
import type { ByteSource } from '../source.ts';
import { HeaderCursor, malformed } from './header-cursor.ts';
import { tensorType, unknownType, type GgufTypeName } from '../tensors/tensor-types.ts';
import { readValue, type GgufValue } from './values.ts';

export interface GgufTensor {
  name: string;
  type: GgufTypeName;
  /** Rows before columns, as in safetensors; the file has them the other way round. */
  shape: readonly number[];
  source: ByteSource;
  /** From the start of the file. */
  offset: number;
  bytes: number;
}

export interface GgufFile {
  name: string;
  version: number;
  metadata: ReadonlyMap<string, GgufValue>;
  tensors: readonly GgufTensor[];
}

const MAGIC = 0x46554747; // "GGUF"
const VERSIONS = [2, 3];
const MOST_KEYS = 2 ** 16;
const MOST_TENSORS = 2 ** 16;
const MOST_NAME = 2 ** 16 - 1;
const MOST_DIMENSIONS = 5;
const DEFAULT_ALIGNMENT = 32;
const MOST_ALIGNMENT = 2 ** 20;

/** Reads the header of a file. Throws bad_checkpoint for what does not add up, and unsupported for another version or byte order. */
export async function readGguf(source: ByteSource): Promise<GgufFile> {
  const cursor = new HeaderCursor(source);
  const version = await readVersion(source, cursor);
  const tensorCount = await readCount(cursor, 'tensors', MOST_TENSORS);
  const keys = await readCount(cursor, 'keys', MOST_KEYS);
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < keys; i++) {
    const key = await cursor.string(`key ${i}`);
    if (key === '' || key.length > MOST_NAME) throw cursor.error(`key ${i} has ${key.length} characters`);
    if (metadata.has(key)) throw cursor.error(`it has the key ${shown(key)} twice`);
    metadata.set(key, await readValue(cursor, `the value of ${shown(key)}`));
  }
  const claims: Claim[] = [];
  const names = new Set<string>();
  for (let i = 0; i < tensorCount; i++) {
    const claim = await readClaim(cursor, i);
    if (names.has(claim.name)) throw cursor.error(`it has the tensor ${shown(claim.name)} twice`);
    names.add(claim.name);
    claims.push(claim);
  }
  const alignment = alignmentOf(source, metadata);
  const tensors = placed(source, claims, padded(cursor.offset, alignment), alignment);
  return { name: source.name, version, metadata, tensors };
}

async function readVersion(source: ByteSource, cursor: HeaderCursor): Promise<number> {
  if (source.size < 8) throw malformed(source.name, `it holds ${source.size} bytes`);
  const magic = await cursor.u32('its first bytes');
  if (magic !== MAGIC) throw malformed(source.name, 'it does not begin with the letters GGUF');
  const version = await cursor.u32('its version');
  if (VERSIONS.includes(version)) return version;
  const isSwapped = version > 0 && (version & 0xffff) === 0;
  const problem = isSwapped
    ? 'is a GGUF file in big endian, and little endian is read'
    : `is a GGUF file of version ${version}, and versions ${VERSIONS.join(' and ')} are read`;
  throw unsupported(
    `${source.name} ${problem}: fetch the file from where it was published in that form, or convert the model again`,
    source.name,
  );
}

async function readCount(cursor: HeaderCursor, what: string, most: number): Promise<number> {
  const count = await cursor.u64(`the number of its ${what}`);
  if (count > most) throw cursor.error(`it claims ${count} ${what}, and ${most} are possible`);
  return count;
}

interface Claim {
  name: string;
  type: GgufTypeName;
  shape: number[];
  /** From the start of the data. */
  offset: number;
  bytes: number;
}

async function readClaim(cursor: HeaderCursor, nth: number): Promise<Claim> {
  const name = await cursor.string(`the name of tensor ${nth}`);
  if (name === '' || name.length > MOST_NAME)
    throw cursor.error(`the name of tensor ${nth} has ${name.length} characters`);
  const what = `tensor ${shown(name)}`;
  const dimensions = await cursor.u32(`the dimensions of ${what}`);
  if (dimensions < 1 || dimensions > MOST_DIMENSIONS)
    throw cursor.error(`${what} has ${dimensions} dimensions, and 1 to ${MOST_DIMENSIONS} are possible`);
  const sizes: number[] = [];
  for (let i = 0; i < dimensions; i++) sizes.push(await cursor.u64(`the dimensions of ${what}`));
  const id = await cursor.u32(`the type of ${what}`);
  const type = tensorType(id);
  if (type === null) throw cursor.error(`${what} has the type ${unknownType(id)}`);
  const offset = await cursor.u64(`the offset of ${what}`);
  const values = sizes.reduce((product, size) => product * size, 1);
  if (values < 1 || !Number.isSafeInteger(values))
    throw cursor.error(`${what} has the shape [${sizes.toReversed().join(', ')}]`);
  if (sizes[0]! % type.block !== 0)
    throw cursor.error(
      `${what} has rows of ${sizes[0]} values, and ${type.name} has blocks of ${type.block}`,
    );
  const bytes = (values / type.block) * type.bytes;
  return { name, type: type.name, shape: sizes.reverse(), offset, bytes };
}

function alignmentOf(source: ByteSource, metadata: GgufFile['metadata']): number {
  const alignment = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT;
  const isPower = typeof alignment === 'number' && Number.isInteger(Math.log2(alignment));
  if (isPower && alignment >= 1 && alignment <= MOST_ALIGNMENT) return alignment;
  throw malformed(
    source.name,
    `general.alignment is ${String(alignment).slice(0, 40)}, and a power of two up to ${MOST_ALIGNMENT} is needed`,
  );
}

/** In order of their offsets, each tensor begins where the one before ends, padded, and the last ends with the file. */
function placed(source: ByteSource, claims: Claim[], dataStart: number, alignment: number): GgufTensor[] {
  let end = 0;
  let before = 'the start of the data';
  for (const { name, offset, bytes } of claims.toSorted((a, b) => a.offset - b.offset)) {
    const what = `tensor ${shown(name)}`;
    if (offset % alignment !== 0)
      throw malformed(source.name, `${what} begins at ${offset}, which is not a multiple of ${alignment}`);
    const expected = padded(end, alignment);
    if (offset < end)
      throw malformed(source.name, `${what} at ${offset} overlaps ${before}, which ends at ${end}`);
    if (offset !== expected)
      throw malformed(
        source.name,
        `${offset - expected} bytes between ${before} and ${what} belong to no tensor`,
      );
    end = offset + bytes;
    if (dataStart + end > source.size)
      throw malformed(
        source.name,
        `${what} ends at byte ${dataStart + end}, and the file has ${source.size}`,
      );
    before = what;
  }
  if (claims.length > 0 && source.size > dataStart + padded(end, alignment))
    throw malformed(
      source.name,
      `${source.size - dataStart - end} bytes behind ${before} belong to no tensor`,
    );
  return claims.map(({ offset, ...claim }) => ({ ...claim, source, offset: dataStart + offset }));
}

function padded(size: number, alignment: number): number {
  return Math.ceil(size / alignment) * alignment;
}

function shown(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
