// Writes GGUF files for tests: metadata with the types that the reference writer gives them, tensors with bytes of any type.

const TYPES = {
  u8: 0,
  i8: 1,
  u16: 2,
  i16: 3,
  u32: 4,
  i32: 5,
  f32: 6,
  bool: 7,
  string: 8,
  u64: 10,
  i64: 11,
  f64: 12,
} as const;
type Scalar = keyof typeof TYPES;

/** A value with its type; plain texts, booleans, whole numbers and other numbers are string, bool, u32 and f32. */
export type Written =
  | string
  | boolean
  | number
  | { type: Scalar; value: number | bigint }
  | { items: Scalar; values: readonly (string | number | bigint | boolean)[] }
  | { lists: readonly Written[] };

export interface WrittenTensor {
  name: string;
  /** Number of the type in the file. */
  type: number;
  /** Rows before columns. */
  shape: readonly number[];
  bytes: Uint8Array;
}

export interface WrittenFile {
  metadata?: Record<string, Written>;
  tensors?: readonly WrittenTensor[];
  version?: number;
  alignment?: number;
}

export function writeGguf({
  metadata = {},
  tensors = [],
  version = 3,
  alignment = 32,
}: WrittenFile): Uint8Array {
  const out = new Output();
  out.text('GGUF');
  out.number('u32', version);
  out.number('u64', tensors.length);
  out.number('u64', Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) {
    out.string(key);
    out.value(value);
  }
  let offset = 0;
  for (const { name, type, shape, bytes } of tensors) {
    out.string(name);
    out.number('u32', shape.length);
    for (const size of shape.toReversed()) out.number('u64', size);
    out.number('u32', type);
    out.number('u64', offset);
    offset = Math.ceil((offset + bytes.length) / alignment) * alignment;
  }
  out.pad(alignment);
  for (const { bytes } of tensors) {
    out.bytes(bytes);
    out.pad(alignment);
  }
  return out.all();
}

export function f32Tensor(name: string, shape: readonly number[], values: Float32Array): WrittenTensor {
  return { name, type: 0, shape, bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) };
}

class Output {
  #bytes = new Uint8Array(1024);
  #size = 0;

  bytes(bytes: Uint8Array): void {
    if (this.#size + bytes.length > this.#bytes.length) {
      const larger = new Uint8Array(2 * (this.#size + bytes.length));
      larger.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.length;
  }

  text(text: string): void {
    this.bytes(new TextEncoder().encode(text));
  }

  string(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.number('u64', bytes.length);
    this.bytes(bytes);
  }

  number(type: Scalar, value: number | bigint): void {
    const view = new DataView(new ArrayBuffer(8));
    const whole = Number(value);
    if (type === 'u8' || type === 'bool') view.setUint8(0, whole);
    if (type === 'i8') view.setInt8(0, whole);
    if (type === 'u16') view.setUint16(0, whole, true);
    if (type === 'i16') view.setInt16(0, whole, true);
    if (type === 'u32') view.setUint32(0, whole, true);
    if (type === 'i32') view.setInt32(0, whole, true);
    if (type === 'f32') view.setFloat32(0, whole, true);
    if (type === 'u64') view.setBigUint64(0, BigInt(value), true);
    if (type === 'i64') view.setBigInt64(0, BigInt(value), true);
    if (type === 'f64') view.setFloat64(0, whole, true);
    this.bytes(new Uint8Array(view.buffer, 0, SIZES[type]));
  }

  value(value: Written): void {
    if (typeof value === 'object' && ('items' in value || 'lists' in value)) {
      this.number('u32', 9);
      return this.list(value);
    }
    const [type, plain] = scalarOf(value);
    this.number('u32', TYPES[type]);
    if (typeof plain === 'string') this.string(plain);
    else this.number(type, Number(plain) === plain || typeof plain === 'bigint' ? plain : Number(plain));
  }

  list(
    value:
      | { items: Scalar; values: readonly (string | number | bigint | boolean)[] }
      | { lists: readonly Written[] },
  ): void {
    const count = 'items' in value ? value.values.length : value.lists.length;
    this.number('u32', 'items' in value ? TYPES[value.items] : 9);
    this.number('u64', count);
    if ('lists' in value) {
      for (const list of value.lists) if (typeof list === 'object' && !('type' in list)) this.list(list);
      return;
    }
    for (const one of value.values) {
      if (typeof one === 'string') this.string(one);
      else this.number(value.items, typeof one === 'boolean' ? Number(one) : one);
    }
  }

  pad(alignment: number): void {
    this.bytes(new Uint8Array((alignment - (this.#size % alignment)) % alignment));
  }

  all(): Uint8Array {
    return this.#bytes.slice(0, this.#size);
  }
}

const SIZES: Record<Scalar, number> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  bool: 1,
  string: 0,
  u64: 8,
  i64: 8,
  f64: 8,
};

function scalarOf(value: Written): [Scalar, string | boolean | number | bigint] {
  if (typeof value === 'string') return ['string', value];
  if (typeof value === 'boolean') return ['bool', value];
  if (typeof value === 'number') return [Number.isInteger(value) && value >= 0 ? 'u32' : 'f32', value];
  if ('type' in value) return [value.type, value.value];
  throw new Error('a list is no scalar');
}
