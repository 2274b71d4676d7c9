// Sources of bytes. A checkpoint is a folder of sources, which a disk, a browser's File or an array in a test can implement.

import { badCheckpoint, internalError, reasonOf } from './error.ts';
import { parseJson } from './json.ts';

export interface ByteSource {
  /** File name, for messages. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** A fresh array of `length` bytes. */
  read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Fills `target` from `offset` on, without allocating. */
  readInto(offset: number, target: Uint8Array<ArrayBuffer>): Promise<void>;
  close(): Promise<void>;
}

type Named = Pick<ByteSource, 'name' | 'size'>;

/** A source whose bytes `fill` puts into an array; ranges beyond the size are refused before. */
export function sourceOf(
  { name, size }: Named,
  fill: ByteSource['readInto'],
  close: ByteSource['close'] = async () => {},
): ByteSource {
  const readInto: ByteSource['readInto'] = async (offset, target) => {
    assertRange({ name, size }, offset, target.length);
    await fill(offset, target);
  };
  const read: ByteSource['read'] = async (offset, length) => {
    assertRange({ name, size }, offset, length);
    const target = new Uint8Array(length);
    await fill(offset, target);
    return target;
  };
  return { name, size, read, readInto, close };
}

/** A source without a file of its own whose ranges `slice` gives as arrays. */
export function slicedSource({ name, size }: Named, slice: ByteSource['read']): ByteSource {
  const read: ByteSource['read'] = async (offset, length) => {
    assertRange({ name, size }, offset, length);
    return slice(offset, length);
  };
  const readInto: ByteSource['readInto'] = async (offset, target) =>
    target.set(await read(offset, target.length));
  return { name, size, read, readInto, close: async () => {} };
}

export async function closeAll(sources: readonly Pick<ByteSource, 'close'>[]): Promise<void> {
  await Promise.all(sources.map((source) => source.close()));
}

/** Runs `work` with sources that stay open after it, unless it throws. */
export async function keepingOpen<Result>(
  sources: readonly Pick<ByteSource, 'close'>[],
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await closeAll(sources);
    throw error;
  }
}

export interface Folder {
  /** The path that the user gave, made absolute. */
  readonly path: string;
  /** Names of the files directly inside. */
  names(): Promise<string[]>;
  open(name: string): Promise<ByteSource>;
  /** Names of the folders directly inside that hold a model, for messages; left out: they are not looked at. */
  models?(): Promise<string[]>;
}

/** A read beyond the end means that the checkpoint changed while it was open, or that the caller is wrong. */
export function assertRange(source: Named, offset: number, length: number): void {
  if (
    !Number.isSafeInteger(offset) ||
    !Number.isSafeInteger(length) ||
    offset < 0 ||
    length < 0 ||
    offset + length > source.size
  ) {
    throw internalError(
      `asked for ${length} bytes at ${offset} of ${source.name}, which holds ${source.size}`,
    );
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Bytes of a text file; the largest tokenizer.json published has about 35 MB. */
export const MOST_TEXT_BYTES = 2 ** 27;

/** Bytes of a small file. */
export async function readBytes(folder: Folder, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const source = await folder.open(name);
  try {
    if (source.size > MOST_TEXT_BYTES) {
      throw badCheckpoint(
        `${name} in ${folder.path} has ${source.size} bytes, and such a file may have ${MOST_TEXT_BYTES}: put the published file in its place`,
        name,
      );
    }
    return await source.read(0, source.size);
  } finally {
    await source.close();
  }
}

export async function readText(folder: Folder, name: string): Promise<string> {
  try {
    return utf8.decode(await readBytes(folder, name));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw badCheckpoint(`${name} in ${folder.path} is not UTF-8 text: fetch the file again`, name, cause);
  }
}

/** The value in a JSON file, of any kind. */
export async function readJsonValue(folder: Folder, name: string): Promise<unknown> {
  const text = await readText(folder, name);
  try {
    return parseJson(text);
  } catch (cause) {
    throw badCheckpoint(
      `${name} in ${folder.path} is not JSON (${reasonOf(cause)}): fetch the file again, or correct it`,
      name,
      cause,
    );
  }
}

/** The object in a JSON file. */
export async function readJson(folder: Folder, name: string): Promise<Record<string, unknown>> {
  const value = await readJsonValue(folder, name);
  if (isRecord(value)) return value;
  throw badCheckpoint(
    `${name} in ${folder.path} must hold a JSON object: put the published file in its place`,
    name,
  );
}

/** The object in a JSON text; null: the text holds none, or is damaged. */
export function jsonObject(text: string): Record<string, unknown> | null {
  try {
    const value = parseJson(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
