// Weights of 8-bit floats in files of image models: scales under several names, and tensors that become numbers.

import { describe, expect, it } from 'vitest';
import type { TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { readFloat8 } from '../../../src/files/pipeline/float8-tensors.ts';
import { halfValue } from '../../../src/files/tensors/half-values.ts';
import { equalRows, renameTensors, withScales } from '../../../src/files/pipeline/renamed-tensors.ts';
import { memorySource } from '../memory-source.ts';

const CODES = Uint8Array.from({ length: 256 }, (_, code) => code);

function entry(name: string, dtype: string, shape: number[], bytes: Uint8Array): TensorEntry {
  // The tensor begins somewhere in its file.
  const source = memorySource('m.safetensors', Uint8Array.from([7, 7, 7, ...bytes]));
  return { name, dtype, shape, source, offset: 3, bytes: bytes.length } as TensorEntry;
}

const map = (...entries: TensorEntry[]) => new Map(entries.map((one) => [one.name, one]));
const scalar = (name: string, value: number) =>
  entry(name, 'F32', [], new Uint8Array(Float32Array.of(value).buffer));

async function numbersOf({ dtype, source, offset, bytes }: TensorEntry): Promise<number[]> {
  const read = await source.read(offset, bytes);
  return dtype === 'F32'
    ? [...new Float32Array(read.buffer)]
    : Array.from(new Uint16Array(read.buffer), (bits) => halfValue(bits));
}

/** source: OCP 8-bit Floating Point Specification */
const e4m3 = (code: number): number => {
  const [exponent, fraction] = [(code >> 3) & 15, code & 7];
  if ((code & 127) === 127) return NaN;
  const magnitude = exponent === 0 ? fraction * 2 ** -9 : (1 + fraction / 8) * 2 ** (exponent - 7);
  return code > 127 ? -magnitude : magnitude;
};
const e5m2 = (code: number): number => {
  const [exponent, fraction] = [(code >> 2) & 31, code & 3];
  if (exponent === 31) return fraction === 0 ? (code > 127 ? -Infinity : Infinity) : NaN;
  const magnitude = exponent === 0 ? fraction * 2 ** -16 : (1 + fraction / 4) * 2 ** (exponent - 15);
  return code > 127 ? -magnitude : magnitude;
};

describe('FP8 tensors without scales that are no matrices of whole blocks', () => {
  it.each([
    ['F8_E4M3', e4m3],
    ['F8_E5M2', e5m2],
  ] as const)('of %s have the values of all 256 codes in f16', async (dtype, value) => {
    const read = readFloat8(map(entry('norm.weight', dtype, [256], CODES))).get('norm.weight')!;
    expect(read).toMatchObject({ dtype: 'F16', shape: [256], bytes: 512 });
    expect(await numbersOf(read)).toEqual(Array.from(CODES, value));
    // From an odd byte to an odd byte.
    const whole = await read.source.read(read.offset, read.bytes);
    expect(await read.source.read(read.offset + 5, 20)).toEqual(whole.slice(5, 25));
  });

  it('are embeddings of positions, convolutions and rows of other lengths', () => {
    const of = (name: string, ...shape: number[]) =>
      entry(name, 'F8_E4M3', shape, new Uint8Array(shape.reduce((a, b) => a * b)));
    const read = readFloat8(
      map(
        of('a.position_embedding.weight', 2, 128),
        of('conv.weight', 2, 128, 3, 3),
        of('odd.weight', 2, 100),
        of('token', 1, 128),
        of('matrix.weight', 2, 256),
      ),
    );
    const types = [...read.values()].map(({ dtype }) => dtype);
    expect(types).toEqual(['F16', 'F16', 'F16', 'F16', 'F8_E4M3']);
  });
});

it.each(['scale_weight', 'weight_scale', 'weight_scale_inv'])(
  'an FP8 matrix keeps its codes with the scale of %s',
  async (name) => {
    const tensors = map(
      entry('x.weight', 'F8_E4M3', [2, 128], CODES),
      scalar(`x.${name}`, 0.25),
      scalar('x.scale_input', 3),
      entry('x.comfy_quant', 'U8', [2], CODES.subarray(0, 2)),
      entry('scaled_fp8', 'F8_E4M3', [2], CODES.subarray(0, 2)),
    );
    const read = withScales(readFloat8(tensors));
    expect([...read.keys()]).toEqual(['x.weight', 'x.weight_scale']);
    expect(await numbersOf(read.get('x.weight_scale')!)).toEqual([0.25]);
  },
);

it('an FP8 matrix that was cast has the scale 1', async () => {
  const read = withScales(readFloat8(map(entry('x.weight', 'F8_E4M3', [2, 128], CODES))));
  expect(await numbersOf(read.get('x.weight_scale')!)).toEqual([1]);
});

it('an FP8 convolution with a scale becomes f32', async () => {
  const conv = entry('x.weight', 'F8_E4M3', [2, 128, 1, 1], CODES);
  const read = readFloat8(map(conv, scalar('x.scale_weight', 0.5))).get('x.weight')!;
  expect(read).toMatchObject({ dtype: 'F32', bytes: 1024 });
  expect((await numbersOf(read)).slice(0, 120)).toEqual(
    Array.from(CODES.subarray(0, 120), (code) => e4m3(code) / 2),
  );
  const rows = entry('x.scale_weight', 'F32', [2, 1], new Uint8Array(8));
  expect(() => readFloat8(map(conv, rows))).toThrow(
    /x\.weight is F8_E4M3 of \[2, 128, 1, 1\] with scales of \[2, 1\]/,
  );
});

it('parts of a fused FP8 matrix have its scale, or those of their rows', async () => {
  const codes = entry('qkv.weight', 'F8_E4M3', [6, 128], new Uint8Array(768).fill(1));
  const rename = (name: string, shape: readonly number[]) =>
    equalRows(['q.weight', 'k.weight', 'v.weight'], name ? shape : []);
  const scales = async (scale: TensorEntry) => {
    const read = withScales(renameTensors(readFloat8(map(codes, scale)), rename));
    return Promise.all(['q', 'k', 'v'].map((part) => numbersOf(read.get(`${part}.weight_scale`)!)));
  };
  expect(await scales(scalar('qkv.scale_weight', 2))).toEqual([[2], [2], [2]]);
  const each = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
  expect(await scales(entry('qkv.weight_scale', 'F32', [6, 1], each))).toEqual([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  expect(() => renameTensors(map({ ...codes, shape: [7, 128] }), rename)).toThrow(
    /7 rows .* cannot be split/,
  );
});
