// Compares the values of two stored tensors. They are read in parallel, a few megabytes at a time, up to the first difference;
// different tensors usually differ at their start.

import type { TensorEntry } from '../tensors/safetensors.ts';

/** Formats that are decoded, with the bytes of an element. */
const DECODED: Readonly<Record<string, number>> = { F32: 4, F16: 2, BF16: 2 };
/** Number of elements of the first comparison, and of the following ones. */
const FIRST = 2 ** 12;
const CHUNK = 2 ** 20;

/**
 * False for other shapes, and for formats other than F32, F16 and BF16 that are not stored alike. No more than the first `most`
 * elements are compared.
 */
export async function sameValues(a: TensorEntry, b: TensorEntry, most = Infinity): Promise<boolean> {
  if (a.shape.join() !== b.shape.join()) return false;
  const elements = a.shape.reduce((product, extent) => product * extent, 1);
  const count = Math.min(elements, most);
  if (!DECODED[a.dtype] || !DECODED[b.dtype]) return false;
  for (let at = 0; at < count;) {
    const step = Math.min(at === 0 ? FIRST : CHUNK, count - at);
    const [left, right] = await Promise.all([read(a, at, step), read(b, at, step)]);
    if (!(a.dtype === b.dtype && sameBytes(left, right)) && !sameNumbers(a, left, b, right)) return false;
    at += step;
  }
  return true;
}

function read({ dtype, source, offset }: TensorEntry, first: number, elements: number): Promise<Uint8Array> {
  const size = DECODED[dtype]!;
  return source.read(offset + first * size, elements * size);
}

/** Compares whole words, because this processes gigabytes. */
function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  const words = left.length >> 2;
  const [a, b] = [left, right].map(({ buffer, byteOffset }) => new Uint32Array(buffer, byteOffset, words));
  for (let at = 0; at < words; at++) if (a![at] !== b![at]) return false;
  for (let at = 4 * words; at < left.length; at++) if (left[at] !== right[at]) return false;
  return true;
}

/** Treats 0 and -0 as equal, and NaN as different from everything. */
function sameNumbers(a: TensorEntry, left: Uint8Array, b: TensorEntry, right: Uint8Array): boolean {
  const [one, other] = [decode(a.dtype, left), decode(b.dtype, right)];
  return one.every((value, at) => value === other[at]);
}

function decode(dtype: string, bytes: Uint8Array): Float32Array {
  if (dtype === 'F32') return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const words = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  if (dtype === 'F16') return Float32Array.from(words, halfValue);
  return new Float32Array(Uint32Array.from(words, (word) => word << 16).buffer);
}

function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 0x3ff];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
