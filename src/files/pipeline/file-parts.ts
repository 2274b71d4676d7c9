// Components in one file: which layouts its names show, and the tensors of one component under the names that pages ask for.

import { badCheckpoint, EngineError } from '../error.ts';
import { readCoded } from '../coded/fold.ts';
import { isNunchaku, readNunchaku } from '../coded/nunchaku.ts';
import { isGgufName } from '../gguf/file-names.ts';
import { readTensorFile } from '../tensors/tensor-file.ts';
import type { Weights } from '../checkpoint/shards.ts';
import { keepingOpen, type ByteSource, type Folder } from '../source.ts';
import { refuseFormats } from './comfy-formats.ts';
import type { PartConfig, PartLayout } from './file-layout.ts';
import { bfloatValue, halfValue } from '../tensors/half-values.ts';
import { readFloat8, type FileTensor } from './float8-tensors.ts';
import { openGgufTensors } from './gguf-file.ts';
import { renameTensors, withScales } from './renamed-tensors.ts';

/** A file whose header was read. */
export interface OpenFile {
  sources: readonly ByteSource[];
  tensors: ReadonlyMap<string, FileTensor>;
  metadata: Readonly<Record<string, string>>;
  /** Whether its metadata hold a tokenizer; left out: they do not. */
  hasTokenizer?: boolean;
  /** For messages. */
  path: string;
}

/** A component that was found in a file. */
export interface FoundPart extends PartConfig {
  layout: PartLayout;
  prefix: string;
  /** Names of its tensors in the file. */
  names: readonly string[];
}

/** Reads the header of a file; on an error nothing stays open. */
export async function openFile(folder: Folder, name: string): Promise<OpenFile> {
  const path = filePath(folder, name);
  if (isGgufName(name)) return { ...(await openGgufTensors(folder, name)), metadata: {}, path };
  const sources = [await folder.open(name)];
  return keepingOpen(sources, async () => {
    const { tensors, metadata } = await readTensorFile(sources[0]!);
    return { sources, tensors: await readCodes(path, tensors), metadata, path };
  });
}

/** Gathers codes and their scales. Throws with the file's path. */
async function readCodes(
  path: string,
  tensors: Parameters<typeof readCoded>[0],
): Promise<OpenFile['tensors']> {
  await refuseFormats(tensors).catch((error: unknown) => {
    throw withPath(path, error);
  });
  if (isNunchaku(tensors)) return underPath(path, () => readNunchaku(tensors));
  const declared = [...tensors.keys()].some((one) => BITSANDBYTES.test(one)) ? IN_BLOCKS : null;
  const coded = await readCoded(tensors, declared).catch((error: unknown) => {
    throw withPath(path, error);
  });
  return underPath(path, () => readFloat8(coded));
}

/** Reads a file's tensors; errors get the file's path. */
export function underPath<Read>(path: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    throw withPath(path, error);
  }
}

const withPath = (path: string, error: unknown): unknown =>
  error instanceof EngineError ? error.underName(path) : error;

/** Statements about codes of bitsandbytes, which single files have without a configuration that declares them. */
const BITSANDBYTES = /\.quant_state\.bitsandbytes__|\.SCB$/;
const IN_BLOCKS = { method: 'bitsandbytes', settings: {} };

/** A folder that is opened by a file has the file's path. */
export function filePath({ path }: Folder, name: string): string {
  return path.endsWith(`/${name}`) || path.endsWith(`\\${name}`) ? path : `${path}/${name}`;
}

/** The first of the layouts that the names of a file show; null: none. Throws bad_checkpoint for a part of which tensors are missing. */
export function findPart(
  tensors: ReadonlyMap<string, FileTensor>,
  layouts: readonly PartLayout[],
): FoundPart | null {
  for (const layout of layouts) {
    const prefix = layout.prefixes.find((one) => layout.signs.every((sign) => tensors.has(one + sign)));
    if (prefix === undefined) continue;
    const own = ownTensors(tensors, prefix);
    const renamed = renameTensors(own, layout.names(own));
    const names = [...own.keys()].map((name) => prefix + name);
    return { layout, prefix, names, ...layout.configure(renamed) };
  }
  return null;
}

/** Tensors whose names begin with a prefix, by the rest of their names. */
function ownTensors<Header>(tensors: ReadonlyMap<string, Header>, prefix: string): Map<string, Header> {
  const own = new Map<string, Header>();
  for (const [name, tensor] of tensors)
    if (name.startsWith(prefix)) own.set(name.slice(prefix.length), tensor);
  return own;
}

/** Opens the tensors of a part. */
export async function openPart(
  folder: Folder,
  name: string,
  { layout, prefix }: Pick<FoundPart, 'layout' | 'prefix'>,
): Promise<Weights> {
  const file = await openFile(folder, name);
  return keepingOpen(file.sources, () => {
    const own = ownTensors(file.tensors, prefix);
    const tensors = withScales(renameTensors(own, layout.names(own)));
    return { tensors, sources: [...file.sources], path: file.path };
  });
}

/** Most values of a tensor that is read for what it says about the model. */
const MOST_VALUES = 2 ** 16;

/** Returns the values of a small tensor of numbers; null: there is none. Throws bad_checkpoint for one that is large or no numbers. */
export async function smallValues(
  file: Pick<OpenFile, 'path' | 'tensors'>,
  name: string,
  most = MOST_VALUES,
): Promise<Float32Array | null> {
  const entry = file.tensors.get(name);
  if (entry === undefined) return null;
  const count = entry.shape.reduce((product, size) => product * size, 1);
  const read = READERS[entry.dtype];
  if (read === undefined || count > most || entry.isTransposed) {
    throw badCheckpoint(
      `${file.path}: tensor ${name} is ${entry.dtype} of [${entry.shape.join(', ')}]${entry.isTransposed ? ', stored column by column' : ''}, and up to ${most} numbers are read: take the file from where the model was published`,
      name,
    );
  }
  const bytes = await entry.source.read(entry.offset, entry.bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: count }, (_, i) => read(view, i));
}

const READERS: Readonly<Record<string, (view: DataView, i: number) => number>> = {
  F32: (view, i) => view.getFloat32(4 * i, true),
  F16: (view, i) => halfValue(view.getUint16(2 * i, true)),
  BF16: (view, i) => bfloatValue(view.getUint16(2 * i, true)),
};
