// The values of a GGUF file's metadata: numbers of twelve types, strings, and lists of one type.

import type { HeaderCursor } from './header-cursor.ts';

/** Types of numbers by their number in the file. */
const NUMBERS = new Map<number, NumberArray>([
  [0, Uint8Array],
  [1, Int8Array],
  [2, Uint16Array],
  [3, Int16Array],
  [4, Uint32Array],
  [5, Int32Array],
  [6, Float32Array],
  [10, BigUint64Array],
  [11, BigInt64Array],
  [12, Float64Array],
]);
const BOOLEAN = 7;
const STRING = 8;
const LIST = 9;

type NumberList =
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

interface NumberArray {
  readonly BYTES_PER_ELEMENT: number;
  new (bytes: ArrayBuffer): NumberList;
}

export type GgufList = readonly string[] | readonly boolean[] | readonly GgufList[] | NumberList;

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
  const least = number?.BYTES_PER_ELEMENT ?? (type === STRING ? 8 : type === LIST ? 12 : 1);
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
  type: NumberArray,
  count: number,
  what: string,
): Promise<NumberList> {
  const bytes = count * type.BYTES_PER_ELEMENT;
  await cursor.need(bytes, what);
  const { view, at } = cursor.take(bytes);
  // Little endian, as every platform that runs this is; copied, since typed arrays begin at multiples of their size.
  return new type(view.buffer.slice(at, at + bytes));
}
