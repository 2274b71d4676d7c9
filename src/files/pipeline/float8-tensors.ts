// Weights of 8-bit floats in files of ComfyUI and others: with one scale for a matrix or for each row, under several names, or cast without
// any. Matrices of whole blocks keep their codes; other tensors become f16, which holds each value of both types, or f32 with their scale.

import { unsupported } from '../error.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import { halfValue } from '../tensors/half-values.ts';
import { slicedSource, sourceOf, type ByteSource } from '../source.ts';

/** A tensor of a file with the one that holds its scales. */
export interface FileTensor extends TensorEntry {
  /** Scales of its codes: one, or one for each row. Left out: it has none. */
  scaledBy?: TensorEntry;
}

/** Ends of the names of scales, in place of `weight`. sources: ComfyUI's scaled FP8, and its layers with comfy_quant; ModelOpt. */
const SCALES = ['scale_weight', 'weight_scale', 'weight_scale_inv'];
/** Tensors beside such weights that take no part: scales of activations, which are not rounded, and marks of the format. */
const BESIDE = /(^|\.)(scale_input|input_scale|comfy_quant|scaled_fp8)$/;
/** Types whose values become f16 numbers in files of image models alone. */
export const WIDENED_TYPES: readonly string[] = ['F8_E5M2'];
const EIGHT_BITS = ['F8_E4M3', ...WIDENED_TYPES];
/** Types of scales that are read. */
const SCALE_TYPES: readonly string[] = ['F32', 'F16', 'BF16'];
/** k's of a block of E4M3 codes, see kernels/stored-blocks.ts. */
const BLOCK = 128;
/** Weights that are looked up or added, not multiplied. */
const TABLE = /(^|\.)(position_embedding\.weight|positional_embedding)$/;

/** Replaces 8-bit floats. Throws unsupported for scales of another shape or type. */
export function readFloat8(tensors: ReadonlyMap<string, TensorEntry>): Map<string, FileTensor> {
  const found = new Map<string, FileTensor>(tensors);
  for (const entry of tensors.values()) {
    const { name, dtype } = entry;
    if (!EIGHT_BITS.includes(dtype)) continue;
    const scale = scaleOf(tensors, name);
    if (scale) found.delete(scale.name);
    found.set(name, replaced(entry, scale));
  }
  for (const name of tensors.keys()) if (BESIDE.test(name)) found.delete(name);
  return found;
}

function scaleOf(tensors: ReadonlyMap<string, TensorEntry>, name: string): TensorEntry | undefined {
  if (!name.endsWith('weight')) return undefined;
  const module = name.slice(0, -'weight'.length);
  const scale = SCALES.map((end) => tensors.get(module + end)).find((entry) => entry !== undefined);
  if (scale === undefined || SCALE_TYPES.includes(scale.dtype)) return scale;
  throw unsupported(
    `tensor ${name} is ${tensors.get(name)!.dtype} with scales in ${scale.dtype} (MXFP8 has such), which is not read: choose FP8 with scales in F32, NF4 or a GGUF file of the model`,
    name,
  );
}

function replaced(entry: TensorEntry, scale: TensorEntry | undefined): FileTensor {
  const { name, dtype, shape } = entry;
  // A matrix of one row is a vector, as tokens for padding are.
  const isMatrix = shape.length === 2 && shape[0]! > 1 && shape[1]! % BLOCK === 0 && !TABLE.test(name);
  if (dtype === 'F8_E4M3' && isMatrix) return { ...entry, scaledBy: scale ?? one(entry) };
  if (scale === undefined) return widened(entry, null);
  if (scale.dtype === 'F32' && scale.bytes === 4) return widened(entry, scale);
  throw unsupported(
    `tensor ${name} is ${dtype} of [${shape.join(', ')}] with scales of [${scale.shape.join(', ')}], and one scale in F32 is read of such: choose another quantization of the model`,
    name,
  );
}

/** The scale 1, of weights that were cast. */
function one({ name, source }: TensorEntry): TensorEntry {
  const bytes = new Uint8Array(Float32Array.of(1).buffer);
  return {
    name: `${name}_scale`,
    dtype: 'F32',
    shape: [],
    source: slicedSource({ name: source.name, size: 4 }, async (offset, length) =>
      bytes.slice(offset, offset + length),
    ),
    offset: 0,
    bytes: 4,
  };
}

/** Offsets of the new tensor count from the place of the stored one, so that files are still read in order. */
function widened(entry: TensorEntry, scale: TensorEntry | null): TensorEntry {
  const width = scale ? 4 : 2;
  const { source, offset, bytes } = entry;
  const halves = HALVES[entry.dtype as 'F8_E4M3' | 'F8_E5M2'];
  let values: Promise<Float32Array> | null = null;
  const fill: ByteSource['readInto'] = async (from, target) => {
    const first = Math.floor((from - offset) / width);
    const end = Math.ceil((from - offset + target.length) / width);
    const codes = await source.read(offset + first, end - first);
    const table = scale ? await (values ??= scaledValues(halves, scale)) : halves;
    const out = scale ? new Float32Array(codes.length) : new Uint16Array(codes.length);
    for (let i = 0; i < codes.length; i++) out[i] = table[codes[i]!]!;
    const at = from - offset - first * width;
    target.set(new Uint8Array(out.buffer, at, target.length));
  };
  const wide = sourceOf({ name: source.name, size: offset + width * bytes }, fill);
  return { ...entry, dtype: scale ? 'F32' : 'F16', source: wide, bytes: width * bytes };
}

/** The value of each code, multiplied by a scale. */
async function scaledValues(halves: Uint16Array, { source, offset }: TensorEntry): Promise<Float32Array> {
  const bytes = await source.read(offset, 4);
  const scale = new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0, true);
  return Float32Array.from(halves, (bits) => halfValue(bits) * scale);
}

/** Bits of the f16 of each code. */
const HALVES = {
  F8_E5M2: Uint16Array.from({ length: 256 }, (_, code) => code << 8),
  F8_E4M3: Uint16Array.from({ length: 256 }, (_, code) => halfOfE4M3(code)),
};

function halfOfE4M3(code: number): number {
  const sign = (code & 0x80) << 8;
  const exponent = (code >> 3) & 15;
  const fraction = code & 7;
  if ((code & 0x7f) === 0x7f) return sign | 0x7e00; // NaN
  if (exponent > 0) return sign | ((exponent + 8) << 10) | (fraction << 7);
  if (fraction === 0) return sign;
  // fraction · 2⁻⁹, which is a normal number in f16.
  const shift = Math.floor(Math.log2(fraction));
  return sign | ((shift + 6) << 10) | ((fraction << (10 - shift)) & 0x3ff);
}
