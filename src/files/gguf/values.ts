// The values of a GGUF file's metadata: numbers of twelve types, strings, and lists of one type.

import type { HeaderCursor } from './header-cursor.ts';

/** Types of numbers by their number in the file. */
const NUMBERS: ReadonlyMap<number, { name: string; bytes: number }> = new Map([
  [0, { name: 'uint8', bytes: 1 }],
  [1, { name: 'int8', bytes: 1 }],
  [2, { name: 'uint16', bytes: 2 }],
  [3, { name: 'int16', bytes: 2 }],
  [4, { name: 'uint32', bytes: 4 }],
  [5, { name: 'int32', bytes: 4 }],
  [6, { name: 'float32', bytes: 4 }],
  [10, { name: 'uint64', bytes: 8 }],
  [11, { name: 'int64', bytes: 8 }],
  [12, { name: 'float64', bytes: 8 }],
]);
const BOOLEAN = 7;
const STRING = 8;
const LIST = 9;

export type GgufList =
  | readonly string[]
  | readonly boolean[]
  | readonly GgufList[]
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array;

/** A number of 64 bits is a bigint only where it is too large for a number. */
export type GgufValue = number | bigint | boolean | string | GgufList;

/** Items of one list; the largest vocabularies have 262,144 tokens and twice as many merges. */
const MOST_ITEMS = 2 ** 22;
const MOST_DEPTH = 4;

/** Reads the type of a value and the value. `what`: the value, for messages. */
export async function readValue(cursor: HeaderCursor, what: string): Promise<GgufValue> {
  const type = await cursor.u32(`the type of ${what}`);
  if (type === STRING) return cursor.string(what);
  if (type === LIST) return readList(cursor, what, MOST_DEPTH);
  if (type === BOOLEAN) {
    const [value] = await readBooleans(cursor, 1, what);
    return value!;
  }
  const number = NUMBERS.get(type);
  if (number === undefined) throw cursor.error(`${what} has the type ${type}, and types are 0 to 12`);
  const [value] = await readNumbers(cursor, number, 1, what);
  return typeof value === 'bigint' && BigInt(Number(value)) === value && Number.isSafeInteger(Number(value))
    ? Number(value)
    : value!;
}

async function readList(cursor: HeaderCursor, what: string, depth: number): Promise<GgufList> {
  const type = await cursor.u32(`the type of ${what}`);
  const count = await cursor.u64(`the length of ${what}`);
  const number = NUMBERS.get(type);
  const least = number?.bytes ?? (type === STRING ? 8 : type === LIST ? 12 : 1);
  if (count * least > cursor.remaining || count > MOST_ITEMS)
    throw cursor.error(
      `${what} claims ${count} items, and ${Math.min(MOST_ITEMS, Math.floor(cursor.remaining / least))} are possible`,
    );
  if (number !== undefined) return readNumbers(cursor, number, count, what);
  if (type === STRING) return cursor.strings(count, what);
  if (type === BOOLEAN) return readBooleans(cursor, count, what);
  if (type !== LIST) throw cursor.error(`${what} has items of the type ${type}, and types are 0 to 12`);
  if (depth === 1) throw cursor.error(`${what} nests lists more than ${MOST_DEPTH} deep`);
  const lists: GgufList[] = [];
  for (let i = 0; i < count; i++) lists.push(await readList(cursor, what, depth - 1));
  return lists;
}

async function readBooleans(cursor: HeaderCursor, count: number, what: string): Promise<boolean[]> {
  await cursor.need(count, what);
  const { view, at } = cursor.take(count);
  return Array.from({ length: count }, (_, i) => {
    const value = view.getUint8(at + i);
    if (value > 1) throw cursor.error(`${what} is true or false and holds the byte ${value}`);
    return value === 1;
  });
}

async function readNumbers(
  cursor: HeaderCursor,
  { name, bytes }: { name: string; bytes: number },
  count: number,
  what: string,
): Promise<Exclude<GgufList, readonly string[] | readonly boolean[] | readonly GgufList[]>> {
  await cursor.need(count * bytes, what);
  const { view, at } = cursor.take(count * bytes);
  // Little endian, as every platform that runs this is; copied, since typed arrays begin at multiples of their size.
  const copy = view.buffer.slice(at, at + count * bytes);
  switch (name) {
    case 'uint8':
      return new Uint8Array(copy);
    case 'int8':
      return new Int8Array(copy);
    case 'uint16':
      return new Uint16Array(copy);
    case 'int16':
      return new Int16Array(copy);
    case 'uint32':
      return new Uint32Array(copy);
    case 'int32':
      return new Int32Array(copy);
    case 'float32':
      return new Float32Array(copy);
    case 'uint64':
      return new BigUint64Array(copy);
    case 'int64':
      return new BigInt64Array(copy);
    default:
      return new Float64Array(copy);
  }
}
