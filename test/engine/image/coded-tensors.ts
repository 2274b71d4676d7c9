// Tensors in the codes of other programs, with the numbers that they stand for.

import { typeId } from '../../files/gguf/from-folder.ts';
import { writeGguf, type Written, type WrittenTensor } from '../../files/gguf/write-gguf.ts';
import type { StoredTensor, StoredTensors } from './tiny-tensors.ts';

/** A tensor in codes: the tensors that hold it, and its numbers in F32. */
export interface CodedTensor {
  stored: StoredTensor[];
  numbers: StoredTensor;
}

const HALF = new Float32Array(65536);
for (let bits = 0; bits < 65536; bits++) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const magnitude = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  HALF[bits] = bits & 0x8000 ? -magnitude : magnitude;
}

export function valuesOf({ dtype, bytes }: StoredTensor): Float32Array {
  const own = Uint8Array.from(bytes).buffer;
  if (dtype === 'F32') return new Float32Array(own);
  const bits = new Uint16Array(own);
  const values = new Float32Array(bits.length);
  for (let at = 0; at < bits.length; at++) values[at] = HALF[bits[at]!]!;
  return values;
}

const inF32 = (tensor: StoredTensor, values: Float32Array): StoredTensor => ({
  ...tensor,
  dtype: 'F32',
  bytes: new Uint8Array(values.buffer),
});

/** The largest magnitude of the values from an index to another. */
function largestOf(values: Float32Array, from = 0, to = values.length): number {
  let most = 0;
  for (let at = from; at < to; at++) most = Math.max(most, Math.abs(values[at]!));
  return most;
}

/** Codes by the numbers that they stand for, in ascending order. */
interface Codes {
  numbers: Float64Array;
  codes: readonly number[];
}

function codesOf(numberOf: readonly number[]): Codes {
  const codes = Array.from(numberOf, (_, code) => code)
    .filter((code) => !Number.isNaN(numberOf[code]!))
    .sort((a, b) => numberOf[a]! - numberOf[b]!);
  return { numbers: Float64Array.from(codes, (code) => numberOf[code]!), codes };
}

/** The code of the nearest number; of two that are as near, `isLower` says which. */
function nearest({ numbers, codes }: Codes, value: number, isLower: boolean): number {
  let [low, high] = [0, numbers.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! <= value) low = middle;
    else high = middle;
  }
  const difference = value - numbers[low]! - (numbers[high]! - value);
  return codes[difference < 0 || (isLower && difference === 0) ? low : high]!;
}

const byte = (code: number): number => {
  const exponent = (code >> 3) & 15;
  const magnitude = exponent === 0 ? (code & 7) * 2 ** -9 : (1 + (code & 7) / 8) * 2 ** (exponent - 7);
  return code & 0x80 ? -magnitude : magnitude;
};
const E4M3_NUMBERS = Array.from({ length: 256 }, (_, code) => ((code & 0x7f) === 0x7f ? NaN : byte(code)));
const E4M3 = codesOf(E4M3_NUMBERS);

/** E4M3 with one scale of this name; null: cast without a scale. */
export function float8(tensor: StoredTensor, scaleName: string | null): CodedTensor {
  const values = valuesOf(tensor);
  const scale = scaleName === null ? 1 : Math.fround(largestOf(values) / 448);
  const codes = new Uint8Array(values.length);
  const numbers = new Float32Array(values.length);
  for (let at = 0; at < values.length; at++) {
    const code = nearest(E4M3, values[at]! / scale, false);
    codes[at] = code;
    numbers[at] = E4M3_NUMBERS[code]! * scale;
  }
  const stored: StoredTensor[] = [{ ...tensor, dtype: 'F8_E4M3', bytes: codes }];
  if (scaleName !== null)
    stored.push({
      name: tensor.name.replace(/weight$/, scaleName),
      dtype: 'F32',
      shape: [],
      bytes: new Uint8Array(Float32Array.of(scale).buffer),
    });
  return { stored, numbers: inF32(tensor, numbers) };
}

const NF4 = [
  -1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
  -0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725,
  0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1,
];
const NF4_CODES = codesOf(NF4);
const NF4_BLOCK = 64;

/** NF4 of bitsandbytes in blocks of 64 values, with scales in F32. */
export function nf4(tensor: StoredTensor): CodedTensor {
  const values = valuesOf(tensor);
  const absmax = new Float32Array(values.length / NF4_BLOCK);
  const numbers = new Float32Array(values.length);
  const codes = new Uint8Array(values.length / 2);
  for (let block = 0; block < absmax.length; block++) {
    const [from, to] = [block * NF4_BLOCK, (block + 1) * NF4_BLOCK];
    const scale = largestOf(values, from, to);
    absmax[block] = scale;
    for (let at = from; at < to; at++) {
      const code = nearest(NF4_CODES, values[at]! / scale, true);
      numbers[at] = Math.fround(NF4[code]!) * scale;
      codes[at >> 1]! |= at % 2 === 0 ? code << 4 : code;
    }
  }
  const state = { quant_type: 'nf4', blocksize: NF4_BLOCK, dtype: 'float16', shape: tensor.shape };
  const f32 = (name: string, of: Float32Array): StoredTensor => ({
    name: `${tensor.name}.${name}`,
    dtype: 'F32',
    shape: [of.length],
    bytes: new Uint8Array(of.buffer),
  });
  const text = new TextEncoder().encode(JSON.stringify(state));
  return {
    stored: [
      { ...tensor, dtype: 'U8', shape: [codes.length, 1], bytes: codes },
      f32('absmax', absmax),
      f32('quant_map', Float32Array.from(NF4)),
      {
        name: `${tensor.name}.quant_state.bitsandbytes__nf4`,
        dtype: 'U8',
        shape: [text.length],
        bytes: text,
      },
    ],
    numbers: inF32(tensor, numbers),
  };
}

const Q8_VALUES = 32;
const Q8_BYTES = 34;

/** Blocks of GGUF's Q8_0, over all values in order, with scales that are powers of two. */
export function q8(tensor: StoredTensor): { bytes: Uint8Array; numbers: StoredTensor } {
  const values = valuesOf(tensor);
  const blocks = values.length / Q8_VALUES;
  const bytes = new Uint8Array(blocks * Q8_BYTES);
  const scales = new DataView(bytes.buffer);
  const numbers = new Float32Array(values.length);
  for (let block = 0; block < blocks; block++) {
    const first = block * Q8_VALUES;
    const largest = largestOf(values, first, first + Q8_VALUES);
    const exponent = Math.max(-14, Math.ceil(Math.log2(largest / 127)));
    scales.setUint16(block * Q8_BYTES, (exponent + 15) << 10, true);
    const scale = 2 ** exponent;
    for (let i = 0; i < Q8_VALUES; i++) {
      const code = Math.round(values[first + i]! / scale);
      bytes[block * Q8_BYTES + 2 + i] = code & 255;
      numbers[first + i] = code * scale;
    }
  }
  return { bytes, numbers: inF32(tensor, numbers) };
}

/** ComfyUI-GGUF writes tensors of so many dimensions as they are, in F32. */
const VIDEO_DIMENSIONS = 5;

/**
 * A GGUF file as ComfyUI-GGUF writes it: matrices of whole blocks in Q8_0, tensors of whole blocks reshaped, those of five dimensions in F32, others
 * in F16 or F32.
 */
export function ggufOf(
  tensors: readonly StoredTensor[],
  architecture: string | null,
  more: Record<string, Written> = {},
): { file: Uint8Array; numbers: StoredTensor[] } {
  const metadata: Record<string, Written> = {
    ...(architecture !== null && { 'general.architecture': architecture }),
    ...more,
  };
  const written: WrittenTensor[] = [];
  const numbers: StoredTensor[] = [];
  for (const given of tensors) {
    const { name, shape } = given;
    const isVideo = shape.length === VIDEO_DIMENSIONS;
    const tensor = isVideo ? inF32(given, valuesOf(given)) : given;
    const count = shape.reduce((product, size) => product * size, 1);
    const isCoded = !isVideo && shape.length > 1 && count % 256 === 0 && !name.endsWith('.bias');
    if (!isCoded) {
      written.push({
        name,
        shape: shape.length === 0 ? [1] : shape,
        type: typeId(tensor.dtype === 'F32' ? 'F32' : 'F16'),
        bytes: tensor.bytes,
      });
      numbers.push(tensor);
      continue;
    }
    const isReshaped = shape.length > 2 || shape[1]! % Q8_VALUES !== 0;
    if (isReshaped) metadata[`comfy.gguf.orig_shape.${name}`] = { items: 'i32', values: shape };
    const coded = q8(tensor);
    written.push({
      name,
      shape: isReshaped ? [count / 256, 256] : shape,
      type: typeId('Q8_0'),
      bytes: coded.bytes,
    });
    numbers.push(coded.numbers);
  }
  return { file: writeGguf({ metadata, tensors: written }), numbers };
}

export const named = (tensors: readonly StoredTensor[]): StoredTensors =>
  new Map(tensors.map((tensor) => [tensor.name, tensor]));
