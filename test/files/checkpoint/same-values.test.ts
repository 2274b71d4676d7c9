import { describe, expect, it } from 'vitest';
import { sameValues } from '../../../src/files/checkpoint/same-values.ts';
import type { Dtype, TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { memorySource } from '../memory-source.ts';

type Words = Float32Array | Uint16Array;

function entry(dtype: Dtype, words: Words, shape = [words.length]) {
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  const read: number[] = [];
  const memory = memorySource(dtype, bytes);
  const source = {
    ...memory,
    read: (offset: number, length: number) => (read.push(length), memory.read(offset, length)),
  };
  const tensor: TensorEntry = { name: dtype, dtype, shape, source, offset: 0, bytes: bytes.length };
  return { tensor, read };
}

const same = (a: ReturnType<typeof entry>, b: ReturnType<typeof entry>) => sameValues(a.tensor, b.tensor);
/** 1, -2, 0.5 and the smallest subnormal that all three formats but bf16 hold. */
const F16 = Uint16Array.of(0x3c00, 0xc000, 0x3800, 0x0001);
const BF16 = Uint16Array.of(0x3f80, 0xc000, 0x3f00, 0x3380);
const F32 = Float32Array.of(1, -2, 0.5, 2 ** -24);

describe('tensors with the same values', () => {
  it('are found in one format and across formats', async () => {
    const all = [entry('F32', F32), entry('F16', F16), entry('BF16', BF16)];
    for (const a of all) for (const b of all) expect(await same(a, b)).toBe(true);
  });

  it('differ by one value, by their shape, and by a NaN', async () => {
    expect(
      await same(
        entry('F32', F32),
        entry(
          'F32',
          F32.map((x, i) => (i === 3 ? 0 : x)),
        ),
      ),
    ).toBe(false);
    expect(
      await same(
        entry('F16', F16),
        entry(
          'BF16',
          BF16.map((x, i) => (i === 3 ? x + 1 : x)),
        ),
      ),
    ).toBe(false);
    expect(await same(entry('F32', F32, [4]), entry('F32', F32, [2, 2]))).toBe(false);
    expect(await same(entry('F16', Uint16Array.of(0x7e00)), entry('BF16', Uint16Array.of(0x7fc0)))).toBe(
      false,
    );
    expect(await same(entry('F16', Uint16Array.of(0)), entry('F16', Uint16Array.of(0x8000)))).toBe(true);
  });

  it('are read to the end, and others up to the first difference', async () => {
    const long = new Float32Array(3 * 2 ** 20).fill(1);
    const [a, b] = [entry('F32', long), entry('F32', long.slice())];
    expect(await same(a, b)).toBe(true);
    expect(a.read.reduce((sum, bytes) => sum + bytes, 0)).toBe(long.byteLength);
    const other = entry(
      'F32',
      long.map((x, i) => (i === 0 ? 2 : x)),
    );
    expect(await same(entry('F32', long), other)).toBe(false);
    expect(other.read).toEqual([4 * 2 ** 12]);
    const last = entry(
      'F32',
      long.map((x, i) => (i === long.length - 1 ? 2 : x)),
    );
    expect(await same(entry('F32', long), last)).toBe(false);
  });
});
