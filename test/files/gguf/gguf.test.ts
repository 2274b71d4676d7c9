import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { readGguf, type GgufFile } from '../../../src/files/gguf/gguf.ts';
import { assertRange, type ByteSource } from '../../../src/files/source.ts';
import { memorySource } from '../memory-source.ts';
import { mutations } from './mutations.ts';
import { f32Tensor, writeGguf, type WrittenFile } from './write-gguf.ts';

const values = (count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => i / 7 - 1);

const FILE: WrittenFile = {
  metadata: {
    'general.architecture': 'llama',
    'llama.block_count': 2,
    'a.u8': { type: 'u8', value: 200 },
    'a.i8': { type: 'i8', value: -100 },
    'a.u16': { type: 'u16', value: 60000 },
    'a.i16': { type: 'i16', value: -30000 },
    'a.i32': { type: 'i32', value: -5 },
    'a.f32': 0.5,
    'a.bool': true,
    'a.u64': { type: 'u64', value: 2n ** 40n },
    'a.large': { type: 'u64', value: 2n ** 60n + 1n },
    'a.i64': { type: 'i64', value: -(2n ** 40n) },
    'a.f64': { type: 'f64', value: 1e-12 },
    'b.texts': { items: 'string', values: ['', 'Ġder', '漢字', '𐍈x', 'plain'] },
    'b.floats': { items: 'f32', values: [0.5, -1] },
    'b.bools': { items: 'bool', values: [true, false] },
    'b.lists': {
      lists: [
        { items: 'i32', values: [1, 2] },
        { items: 'i32', values: [] },
      ],
    },
  },
  tensors: [
    f32Tensor('token_embd.weight', [5, 4], values(20)),
    { name: 'blk.0.attn_q.weight', type: 8, shape: [3, 64], bytes: new Uint8Array(3 * 68).fill(7) },
    f32Tensor('output_norm.weight', [4], values(4)),
  ],
};

const read = (bytes: Uint8Array): Promise<GgufFile> => readGguf(memorySource('model.gguf', bytes));

/** The message about a file that cannot be read. */
async function refusal(bytes: Uint8Array): Promise<string> {
  const error: unknown = await read(bytes).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(EngineError);
  return (error as EngineError).message;
}

describe('a GGUF file', () => {
  it('gives the values of all types', async () => {
    const { metadata, version } = await read(writeGguf(FILE));
    expect(version).toBe(3);
    const plain = Object.fromEntries(
      [...metadata].map(([key, value]) => [
        key,
        ArrayBuffer.isView(value) ? [...(value as Float32Array)] : value,
      ]),
    );
    expect(plain).toEqual({
      'general.architecture': 'llama',
      'llama.block_count': 2,
      'a.u8': 200,
      'a.i8': -100,
      'a.u16': 60000,
      'a.i16': -30000,
      'a.i32': -5,
      'a.f32': 0.5,
      'a.bool': true,
      'a.u64': 2 ** 40,
      'a.large': 2n ** 60n + 1n,
      'a.i64': -(2 ** 40),
      'a.f64': 1e-12,
      'b.texts': ['', 'Ġder', '漢字', '𐍈x', 'plain'],
      'b.floats': [0.5, -1],
      'b.bools': [true, false],
      'b.lists': [new Int32Array([1, 2]), new Int32Array([])],
    });
  });

  it('gives its tensors with rows before columns and where their bytes are', async () => {
    const bytes = writeGguf(FILE);
    const { tensors } = await read(bytes);
    expect(tensors.map(({ name, type, shape, bytes: size }) => [name, type, shape, size])).toEqual([
      ['token_embd.weight', 'F32', [5, 4], 80],
      ['blk.0.attn_q.weight', 'Q8_0', [3, 64], 204],
      ['output_norm.weight', 'F32', [4], 16],
    ]);
    for (const [i, { source, offset, bytes: size }] of tensors.entries())
      expect(await source.read(offset, size)).toEqual(FILE.tensors![i]!.bytes);
  });

  it('may be of version 2 and of another alignment', async () => {
    const alignment = 128;
    const metadata = { ...FILE.metadata, 'general.alignment': alignment };
    const { version, tensors } = await read(writeGguf({ ...FILE, metadata, version: 2, alignment }));
    expect(version).toBe(2);
    expect(tensors.every(({ offset }) => offset % alignment === 0)).toBe(true);
  });

  it('with the tokens and merges of a large vocabulary is read in a few pieces, no more of it than its header and one piece', async () => {
    const tokens = Array.from({ length: 150_000 }, (_, i) => `Ġtoken${i}é`);
    const metadata = {
      'tokenizer.ggml.tokens': { items: 'string', values: tokens },
      'tokenizer.ggml.token_type': { items: 'i32', values: tokens.map(() => 1) },
    } as const;
    const data = new Uint8Array(32 * 2 ** 20);
    const bytes = writeGguf({
      metadata,
      tensors: [{ name: 'w', type: 0, shape: [data.length / 4], bytes: data }],
    });
    const reads: number[] = [];
    const counted: ByteSource = {
      ...memorySource('model.gguf', bytes),
      async readInto(offset, target) {
        assertRange(counted, offset, target.length);
        reads.push(target.length);
        target.set(bytes.subarray(offset, offset + target.length));
      },
    };
    const { metadata: found } = await readGguf(counted);
    expect(found.get('tokenizer.ggml.tokens')).toEqual(tokens);
    const header = bytes.length - data.length;
    expect(reads.length).toBeLessThan(12);
    expect(reads.reduce((sum, length) => sum + length, 0)).toBeLessThan(header + 4 * 2 ** 20 + 32);
  });
});

describe('a malformed GGUF file', () => {
  const [q] = FILE.tensors!.slice(1);
  const patched = (at: number, ...replaced: number[]): Uint8Array => {
    const bytes = writeGguf(FILE);
    bytes.set(replaced, at);
    return bytes;
  };
  const cases: [string, Uint8Array, RegExp][] = [
    ['without its magic', patched(0, 0x46), /does not begin with the letters GGUF/],
    ['of version 1', writeGguf({ ...FILE, version: 1 }), /version 1, and versions 2 and 3 are read/],
    ['in big endian', patched(4, 0, 0, 0, 3), /in big endian, and little endian is read/],
    [
      'with too many tensors',
      patched(8, 255, 255, 255, 255, 255, 255, 255, 255),
      /claims 1844\d+ tensors, and 65536 are possible/,
    ],
    ['with too many keys', patched(16, 0, 0, 0, 1), /claims 16777216 keys/],
    ['with a string of absurd length', patched(24, 0, 0, 0, 0, 0, 1), /key 0 claims 1099511627776 bytes/],
    ['that ends within a value', writeGguf(FILE).slice(0, 60), /the file ends within|claims \d+ bytes/],
    [
      'that ends within its data',
      writeGguf(FILE).slice(0, -40),
      /tensor "output_norm.weight" ends at byte \d+, and the file has \d+/,
    ],
    [
      'with bytes behind its data',
      new Uint8Array([...writeGguf(FILE), ...new Uint8Array(64)]),
      /bytes behind tensor "output_norm.weight" belong to no tensor/,
    ],
    [
      'with an alignment of 33',
      writeGguf({ ...FILE, metadata: { 'general.alignment': 33 } }),
      /general.alignment is 33, and a power of two/,
    ],
    [
      'with an alignment of 0',
      writeGguf({ ...FILE, metadata: { 'general.alignment': 0 } }),
      /general.alignment is 0/,
    ],
    ['with a tensor twice', writeGguf({ tensors: [q!, q!] }), /has the tensor "blk.0.attn_q.weight" twice/],
    [
      'with a tensor of an unknown type',
      writeGguf({ tensors: [{ ...q!, type: 99 }] }),
      /has the type 99, which is not a known type/,
    ],
    [
      'with a tensor of a removed type',
      writeGguf({ tensors: [{ ...q!, type: 31 }] }),
      /has the type Q4_0_4_4, which ggml has removed/,
    ],
    [
      'with rows that are not whole blocks',
      writeGguf({ tensors: [{ ...q!, shape: [6, 34] }] }),
      /has rows of 34 values, and Q8_0 has blocks of 32/,
    ],
    [
      'with a tensor without values',
      writeGguf({ tensors: [{ ...q!, shape: [0, 32] }] }),
      /has the shape \[0, 32\]/,
    ],
    [
      'with six dimensions',
      writeGguf({ tensors: [{ ...q!, shape: [1, 1, 1, 1, 3, 64] }] }),
      /has 6 dimensions, and 1 to 5 are possible/,
    ],
    [
      'with tensors that overlap',
      writeGguf({ tensors: [{ ...q!, shape: [4, 64] }, FILE.tensors![0]!] }),
      /overlaps tensor "blk.0.attn_q.weight"/,
    ],
    [
      'with a gap between tensors',
      writeGguf({ tensors: [{ ...q!, shape: [1, 64] }, FILE.tensors![0]!] }),
      /bytes between tensor "blk.0.attn_q.weight" and tensor "token_embd.weight" belong to no tensor/,
    ],
    [
      'with a byte that is neither true nor false',
      writeGguf({ metadata: { x: { items: 'bool', values: [2] } } }),
      /holds the byte 2/,
    ],
    [
      'with text that is not UTF-8',
      (() => {
        const bytes = writeGguf({ metadata: { x: { items: 'string', values: ['ab', 'cd'] } } });
        bytes.set([0xc3], bytes.lastIndexOf(98));
        return bytes;
      })(),
      /not UTF-8/,
    ],
  ];
  for (const [title, bytes, message] of cases) {
    it(`${title} is refused with what is wrong`, async () => {
      expect(await refusal(bytes)).toMatch(message);
      expect(await refusal(bytes)).toContain('model.gguf');
    });
  }

  it('in 500 mutations is refused, or all that it says holds of its bytes', async () => {
    const original = writeGguf(FILE);
    let refused = 0;
    for (const bytes of mutations(original, 500)) {
      const file = await read(bytes).catch((error: unknown) => {
        if (!(error instanceof EngineError)) throw error;
        refused++;
        return null;
      });
      if (file === null) continue;
      // The header takes every byte up to the data, and the data every byte behind it.
      const ends = file.tensors.map(({ offset, bytes: size }) => offset + size);
      expect(Math.max(0, ...ends)).toBeLessThanOrEqual(bytes.length);
      expect(bytes.length - Math.max(0, ...ends)).toBeLessThan(32);
      expect(file.tensors.length).toBe(FILE.tensors!.length);
    }
    expect(refused).toBeGreaterThan(200);
  });
});
