// Files that torch.save wrote (.bin, .pt, .pth, .ckpt): a pickle that names tensors, and their bytes: files of a zip archive, or before torch 1.6
// pieces behind the pickles. The pickle is read as data (pickle.ts), so that a file can run no code here.

import { badCheckpoint, EngineError, reasonOf } from '../error.ts';
import type { ByteSource } from '../source.ts';
import { PickleEnds } from './pickle-cursor.ts';
import { PickledName, textOf, unpickle, type Pickled, type PickleReaders } from './pickle.ts';
import { tensorBytes, type Dtype, type TensorEntry } from './safetensors.ts';
import { readZipIndex, zippedOffset, type ZippedFile } from './zip-index.ts';

/** Types of storages, and torch's own names of types. */
const DTYPES: Readonly<Record<string, Dtype>> = {
  ...{ DoubleStorage: 'F64', FloatStorage: 'F32', HalfStorage: 'F16', BFloat16Storage: 'BF16' },
  ...{ LongStorage: 'I64', IntStorage: 'I32', ShortStorage: 'I16', CharStorage: 'I8', ByteStorage: 'U8' },
  ...{ BoolStorage: 'BOOL', UntypedStorage: 'U8', float32: 'F32', float16: 'F16', bfloat16: 'BF16' },
  ...{ float8_e4m3fn: 'F8_E4M3', float8_e5m2: 'F8_E5M2', float8_e8m0fnu: 'F8_E8M0' },
  ...{ uint16: 'U16', uint32: 'U32', uint64: 'U64' },
};

/** A run of numbers that tensors share. */
class Storage {
  readonly dtype: Dtype;
  readonly key: string;
  /** Numbers, not bytes. */
  readonly count: number;

  constructor(dtype: Dtype, key: string, count: number) {
    this.dtype = dtype;
    this.key = key;
    this.count = count;
  }
}

interface Placed {
  storage: Storage;
  dtype: Dtype;
  /** Numbers of the storage before the first. */
  start: number;
  shape: readonly number[];
  strides: readonly number[];
}

class StoredTensor {
  readonly placed: Placed;

  constructor(placed: Placed) {
    this.placed = placed;
  }
}

/** The first bytes of a zip archive, and of the pickle of torch's magic number. */
const ZIP = [0x50, 0x4b, 3, 4];
const LEGACY = [0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
/** Pickles name tensors and hold none: those of the largest models have less. */
const MOST_PICKLE = 2 ** 28;

/**
 * Reads the tensors that a file names. A dictionary `state_dict` within it takes the place of the whole; names within other dictionaries are
 * joined by dots. Errors: bad_checkpoint.
 */
export async function readTorchFile(source: ByteSource): Promise<Map<string, TensorEntry>> {
  try {
    const start = await source.read(0, Math.min(ZIP.length, source.size));
    const isZip = ZIP.every((byte, i) => start[i] === byte);
    const { root, offsetOf } = await (isZip ? readArchive(source) : readLegacy(source));
    const named = namedTensors(root);
    const entries = [...named].map(async ([name, tensor]) => {
      return [name, await entryOf(source, name, tensor, offsetOf)] as const;
    });
    return new Map(await Promise.all(entries));
  } catch (error) {
    if (error instanceof EngineError) throw error;
    throw unsound(source, reasonOf(error), error);
  }
}

interface TorchContents {
  root: Pickled;
  /** Offset of a storage's first byte in the file. */
  offsetOf(storage: Storage): Promise<number>;
}

async function readArchive(source: ByteSource): Promise<TorchContents> {
  const files = await readZipIndex(source);
  const path = [...files.keys()].find((name) => /(^|\/)data\.pkl$/.test(name));
  if (path === undefined) throw unsound(source, 'its archive has no data.pkl');
  const folder = path.slice(0, -'data.pkl'.length);
  const readWhole = async (name: string, file: ZippedFile): Promise<Uint8Array> => {
    if (file.bytes > MOST_PICKLE) throw unsound(source, `${name} has ${file.bytes} bytes`);
    return source.read(await zippedOffset(source, name, file), file.bytes);
  };
  const order = files.get(`${folder}byteorder`);
  const isBig = order && new TextDecoder().decode(await readWhole('byteorder', order)) === 'big';
  if (isBig) throw unsound(source, 'its numbers have their highest byte first');
  const { value: root } = unpickle(await readWhole(path, files.get(path)!), READERS);
  return {
    root,
    async offsetOf(storage) {
      const name = `${folder}data/${storage.key}`;
      const file = files.get(name);
      const bytes = bytesOf(storage);
      if (file === undefined || file.bytes < bytes)
        throw unsound(source, `its file ${name} should have ${bytes} bytes and has ${file?.bytes ?? 'none'}`);
      return zippedOffset(source, name, file);
    },
  };
}

/** Five pickles (magic number, version, system, contents, keys of storages), then each storage's count and numbers. */
async function readLegacy(source: ByteSource): Promise<TorchContents> {
  const start = await source.read(0, Math.min(LEGACY.length, source.size));
  if (!LEGACY.every((byte, i) => start[i] === byte)) throw unsound(source, 'it begins otherwise');
  const storages = new Map<string, Storage>();
  const persistent = (id: Pickled): Storage => {
    const storage = storageOf(id);
    storages.set(storage.key, storage);
    return storage;
  };
  const { values, end } = await readPickles(source, 5, { ...READERS, persistent });
  const [, , system, root = null, keys] = values;
  if (system instanceof Map && system.get('little_endian') === false)
    throw unsound(source, 'its numbers have their highest byte first');
  const offsets = new Map<string, number>();
  let at = end;
  for (const key of Array.isArray(keys) ? keys : []) {
    const storage = storages.get(textOf(key));
    if (storage === undefined) throw unsound(source, `nothing is said of its storage ${textOf(key)}`);
    offsets.set(storage.key, at + COUNT_BYTES);
    at += COUNT_BYTES + bytesOf(storage);
  }
  if (at > source.size) throw unsound(source, `it should have ${at} bytes and has ${source.size}`);
  return {
    root,
    async offsetOf({ key }) {
      const offset = offsets.get(key);
      if (offset === undefined) throw unsound(source, `its storage ${key} is missing`);
      return offset;
    },
  };
}

const COUNT_BYTES = 8;

/** Reads pickles at the start of a file, of which nothing says how long they are. */
async function readPickles(
  source: ByteSource,
  count: number,
  readers: PickleReaders,
): Promise<{ values: Pickled[]; end: number }> {
  for (let length = 2 ** 20; ; length *= 8) {
    const bytes = await source.read(0, Math.min(length, source.size));
    try {
      const values: Pickled[] = [];
      let end = 0;
      for (let i = 0; i < count; i++) {
        const read = unpickle(bytes, readers, end);
        values.push(read.value);
        ({ end } = read);
      }
      return { values, end };
    } catch (error) {
      if (!(error instanceof PickleEnds) || length >= Math.min(source.size, MOST_PICKLE)) throw error;
    }
  }
}

const READERS: PickleReaders = { persistent: storageOf, replace: rebuilt };

/** The id of a storage: 'storage', its type, its key, its device, its count of numbers. */
function storageOf(id: Pickled): Storage {
  const [kind, type, key, , count] = Array.isArray(id) ? id : [];
  if (kind !== 'storage' || !(type instanceof PickledName) || typeof count !== 'number')
    throw new RangeError('a storage has another form');
  return new Storage(dtypeOf(type), textOf(key), count);
}

/** A type that is not known is met only where a tensor of it is read. */
function dtypeOf({ name }: PickledName): Dtype {
  return DTYPES[name.replace(/^torch\.(cuda\.|storage\.)?/, '')] ?? 'C64';
}

function sizeOf(value: Pickled | undefined): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError('a size of a tensor is not an integer of at least 0');
}

const sizesOf = (value: Pickled | undefined): number[] => (Array.isArray(value) ? value.map(sizeOf) : []);

/** The value of a call that makes a tensor. */
function rebuilt(name: string, args: readonly Pickled[]): Pickled | undefined {
  switch (name) {
    case 'torch._utils._rebuild_tensor':
    case 'torch._utils._rebuild_tensor_v2':
    case 'torch._utils._rebuild_tensor_v3': {
      const [storage, start = 0, shape, strides, , , type] = args;
      if (!(storage instanceof Storage)) return undefined;
      const isTyped = name.endsWith('v3') && type instanceof PickledName;
      const dtype = isTyped ? dtypeOf(type) : storage.dtype;
      const sizes = { shape: sizesOf(shape), strides: sizesOf(strides) };
      return new StoredTensor({ storage, dtype, start: sizeOf(start), ...sizes });
    }
    case 'torch._utils._rebuild_parameter':
    case 'torch._utils._rebuild_parameter_with_state':
      return args[0] instanceof StoredTensor ? args[0] : undefined;
    case 'torch._tensor._rebuild_from_type_v2': {
      const [made, , own] = args;
      return made instanceof PickledName && Array.isArray(own) ? rebuilt(made.name, own) : undefined;
    }
    case 'torch.Size':
      return args[0];
    default:
      return undefined;
  }
}

/** Dictionaries within dictionaries beyond this are no weights. */
const DEPTH = 4;
/** Limit on their members, of which one dictionary may stand in many places. */
const MOST_MEMBERS = 2 ** 20;

function namedTensors(root: Pickled): Map<string, StoredTensor> {
  const named = new Map<string, StoredTensor>();
  const state = root instanceof Map ? root.get('state_dict') : undefined;
  let members = 0;
  const add = (value: Pickled, prefix: string, depth: number): void => {
    if (++members > MOST_MEMBERS) throw new RangeError(`more than ${MOST_MEMBERS} members`);
    if (value instanceof StoredTensor) named.set(prefix, value);
    if (!(value instanceof Map) || depth === DEPTH) return;
    for (const [key, inner] of value) {
      // Keys of other types, as the tuples of an optimizer, name no weights.
      if (typeof key !== 'string' && typeof key !== 'number') continue;
      const name = String(key);
      add(inner, prefix === '' ? name : `${prefix}.${name}`, depth + 1);
    }
  };
  add(state instanceof Map ? state : root, '', 0);
  return named;
}

const bytesOf = ({ dtype, count }: Storage): number => tensorBytes({ dtype, shape: [count] });

async function entryOf(
  source: ByteSource,
  name: string,
  { placed: { storage, dtype, start, shape, strides } }: StoredTensor,
  offsetOf: TorchContents['offsetOf'],
): Promise<TensorEntry> {
  const wrong = (reason: string): EngineError => unsound(source, `tensor ${JSON.stringify(name)} ${reason}`);
  const spec = { name, dtype, shape: [...shape] };
  const bytes = tensorBytes(spec);
  const ahead = tensorBytes({ dtype, shape: [start] });
  if (!(ahead >= 0) || !(ahead + bytes <= bytesOf(storage)))
    throw wrong(`lies beyond the ${storage.count} numbers of its storage`);
  const turned = isTransposed(shape, strides);
  if (!turned && !isContiguous(shape, strides))
    throw wrong(
      `[${shape.join(', ')}] has its numbers apart (strides ${strides.join(', ')}), which is not read`,
    );
  const offset = (await offsetOf(storage)) + ahead;
  return { ...spec, source, offset, bytes, ...(turned && { isTransposed: true }) };
}

/** Whether the numbers lie one after the other, the last dimension first. */
function isContiguous(shape: readonly number[], strides: readonly number[]): boolean {
  let stride = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] !== 1 && strides[i] !== stride) return shape.includes(0);
    stride *= shape[i]!;
  }
  return true;
}

/** Whether a matrix lies column by column. */
function isTransposed(
  [rows = 0, columns = 0, ...more]: readonly number[],
  strides: readonly number[],
): boolean {
  if (more.length > 0 || rows <= 1 || columns <= 1) return false;
  return strides[0] === 1 && strides[1] === rows;
}

function unsound(source: ByteSource, reason: string, cause?: unknown): EngineError {
  return badCheckpoint(
    `${source.name} is not a sound file of torch.save: ${reason}; fetch it again, or a safetensors file of the model`,
    source.name,
    cause,
  );
}
