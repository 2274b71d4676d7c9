import { describe, expect, it } from 'vitest';
import { duplicateKey } from '../../../src/files/json-keys.ts';
import { readSafetensors, safetensorsHead } from '../../../src/files/tensors/safetensors.ts';
import { memorySource } from '../memory-source.ts';

/** Builds a file with this header, unchanged, followed by `dataBytes` bytes of data. */
function file(header: unknown, dataBytes: number, claimed?: bigint) {
  const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + dataBytes);
  new DataView(bytes.buffer).setBigUint64(0, claimed ?? BigInt(text.length), true);
  bytes.set(text, 8);
  return memorySource('model.safetensors', bytes);
}

const f32 = (shape: unknown, begin: number, end: number) => ({
  dtype: 'F32',
  shape,
  data_offsets: [begin, end],
});

describe('reading a safetensors file', () => {
  it('finds each tensor at its place', async () => {
    const source = file({ __metadata__: { format: 'pt' }, b: f32([3], 8, 20), a: f32([2, 1], 0, 8) }, 20);
    const { tensors, metadata } = await readSafetensors(source);
    const a = tensors.get('a');
    const b = tensors.get('b');
    expect(metadata).toEqual({ format: 'pt' });
    expect(a).toMatchObject({ name: 'a', dtype: 'F32', shape: [2, 1], bytes: 8 });
    expect(b).toMatchObject({ bytes: 12, offset: (a?.offset ?? 0) + 8 });
    expect((b?.offset ?? 0) + 12).toBe(source.size);
  });

  it('takes scalars, empty tensors, no tensors and padding after the header', async () => {
    const scalar = await readSafetensors(
      file({ s: f32([], 0, 4), e: f32([0, 7], 0, 0), z: f32([0], 4, 4) }, 4),
    );
    expect([...scalar.tensors.values()].map(({ bytes }) => bytes)).toEqual([4, 0, 0]);
    expect((await readSafetensors(file('{}      ', 0))).tensors.size).toBe(0);
  });

  it('takes what the reference takes: metadata that is null or empty, members nobody knows, any order', async () => {
    const a = f32([1], 0, 4);
    for (const metadata of [null, {}, { format: 'pt' }]) {
      const found = await readSafetensors(file({ __metadata__: metadata, a }, 4));
      expect([...found.tensors.keys()]).toEqual(['a']);
      expect(found.metadata).toEqual(metadata ?? {});
    }
    const odd = { b: { ...f32([1], 4, 8), note: 'x' }, a };
    expect([...(await readSafetensors(file(odd, 8))).tensors.keys()]).toEqual(['b', 'a']);
    const named = file(`{"__proto__":${JSON.stringify(a)}}`, 4);
    expect([...(await readSafetensors(named)).tensors.keys()]).toEqual(['__proto__']);
  });

  it.each([
    ['F4', [16], 8],
    ['F6_E2M3', [8], 6],
    ['F8_E8M0', [8], 8],
    ['F8_E4M3FNUZ', [8], 8],
    ['C64', [1], 8],
  ])('takes %s, which the loader refuses by its name', async (dtype, shape, bytes) => {
    const { tensors } = await readSafetensors(file({ a: { dtype, shape, data_offsets: [0, bytes] } }, bytes));
    expect(tensors.get('a')).toMatchObject({ dtype, bytes });
  });

  it('names a Git LFS pointer for what it is', async () => {
    const text = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 4096\n`;
    const source = memorySource('model.safetensors', new TextEncoder().encode(text));
    await expect(readSafetensors(source)).rejects.toThrow(
      /model\.safetensors is a Git LFS pointer .* `git lfs pull`/,
    );
  });

  it.each<[string, unknown, number, RegExp]>([
    ['overlap', { a: f32([2], 0, 8), b: f32([2], 4, 12) }, 12, /"b" overlaps tensor "a" by 4 bytes/],
    ['a gap', { a: f32([1], 0, 4), b: f32([1], 8, 12) }, 12, /4 bytes between tensor "a" and tensor "b"/],
    ['a gap in front', { a: f32([1], 4, 8) }, 8, /4 bytes between the header and tensor "a"/],
    ['data after the last', { a: f32([1], 0, 4) }, 9, /5 bytes after tensor "a"/],
    ['beyond the file', { a: f32([4], 0, 16) }, 12, /"a": data_offsets 0 to 16 lie beyond the 12 bytes/],
    ['backwards', { a: f32([1], 8, 4) }, 8, /"a": data_offsets 8 to 4 run backwards/],
    ['bytes unlike shape', { a: f32([3], 0, 8) }, 8, /"a": F32 \[3\] takes 12 bytes and data_offsets span 8/],
    ['sizes that overflow', { a: f32([2 ** 40, 2 ** 40], 0, 8) }, 8, /"a": F32 .* takes Infinity bytes/],
    ['unknown dtype', { a: { ...f32([2], 0, 8), dtype: 'F33' } }, 8, /"a": dtype "F33" is none of BOOL/],
    ['no dtype', { a: { shape: [2], data_offsets: [0, 8] } }, 8, /"a": dtype null is none of BOOL/],
    ['no shape', { a: { dtype: 'F32', data_offsets: [0, 8] } }, 8, /"a": shape null is not/],
    ['inherited dtype', { a: { ...f32([2], 0, 8), dtype: 'toString' } }, 8, /"a": dtype "toString" is none/],
    ['fractional shape', { a: f32([1.5], 0, 6) }, 6, /"a": shape \[1.5\] is not/],
    ['negative shape', { a: f32([-1], 0, 4) }, 4, /"a": shape \[-1\] is not/],
    [
      'shape beyond 2^53',
      '{"a":{"dtype":"F32","shape":[9007199254740993],"data_offsets":[0,4]}}',
      4,
      /"a": shape/,
    ],
    ['shape that is not a list', { a: f32(2, 0, 8) }, 8, /"a": shape 2 is not/],
    [
      'one offset',
      { a: { dtype: 'F32', shape: [1], data_offsets: [0] } },
      4,
      /"a": data_offsets \[0\] are not two/,
    ],
    ['no object', { a: 7 }, 0, /"a": its entry is not an object/],
    ['metadata that is not text', { __metadata__: { n: 1 } }, 0, /__metadata__ must map names to strings/],
    ['a list', [], 0, /header is not a JSON object/],
    ['no JSON', '{"a":', 0, /header is not JSON/],
  ])('refuses %s, naming file and tensor', async (_, header, dataBytes, message) => {
    const reading = readSafetensors(file(header, dataBytes));
    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toMatchObject({ code: 'bad_checkpoint', param: 'model.safetensors' });
  });

  it('refuses equal names even where the last one is sound', async () => {
    const entry = '{"dtype":"U8","shape":[1],"data_offsets":[0,1]}';
    await expect(readSafetensors(file(`{"a":${entry},"\\u0061":${entry}}`, 1))).rejects.toThrow(
      /names "a" twice/,
    );
    const inner = '{"dtype":"F32","dtype":"U8","shape":[1],"data_offsets":[0,1]}';
    await expect(readSafetensors(file(`{"a":${inner}}`, 1))).rejects.toThrow(/names "dtype" twice/);
  });

  it('refuses a lying header length before it reads that much', async () => {
    await expect(readSafetensors(file('{}', 0, 2n ** 63n))).rejects.toThrow(
      /9223372036854775808 bytes, more than/,
    );
    await expect(readSafetensors(file('{}', 0, 100_000_001n))).rejects.toThrow(
      /more than the 100000000 allowed/,
    );
    await expect(readSafetensors(file('{}', 0, 3n))).rejects.toThrow(/claims 3 bytes and the file holds 10/);
    await expect(readSafetensors(memorySource('short', new Uint8Array(7)))).rejects.toThrow(/holds 7 bytes/);
  });

  it('refuses a header that is not UTF-8', async () => {
    const bytes = new Uint8Array([3, 0, 0, 0, 0, 0, 0, 0, 0x7b, 0xff, 0x7d]);
    await expect(readSafetensors(memorySource('x', bytes))).rejects.toThrow(/not UTF-8/);
  });
});

describe('duplicateKey', () => {
  it.each<[string, string | null]>([
    ['{"a":1,"b":{"a":2}}', null],
    ['{"a":["a","a"],"b":"a"}', null],
    ['[{"a":1},{"a":1}]', null],
    ['{"a\\"":1,"a":{"x":[{}],"y":1},"b":"}{\\\\"}', null],
    ['{"a":1,"b":2,"a":3}', 'a'],
    ['{"b":{"c":[1,{"d":1,"d":2}]}}', 'd'],
    ['{"a\\nb":1,"a\\u000ab":2}', 'a\nb'],
  ])('%s → %s', (text, key) => {
    JSON.parse(text);
    expect(duplicateKey(text)).toBe(key);
  });
});

describe('writing a safetensors file', () => {
  const specs = [
    { name: 'ä"\\', dtype: 'U8' as const, shape: [3] },
    { name: 'w', dtype: 'F32' as const, shape: [2] },
  ];
  const data = [new Uint8Array([1, 2, 3]), new Uint8Array([0, 0, 128, 63, 0, 0, 0, 64])];

  it('reads back what it wrote', async () => {
    const bytes = Buffer.concat([safetensorsHead(specs, { by: 'test' }), ...data]);
    const source = memorySource('x', new Uint8Array(bytes));
    const { tensors, metadata } = await readSafetensors(source);
    const w = tensors.get('w');
    expect([...tensors.keys()]).toEqual(['ä"\\', 'w']);
    expect(metadata).toEqual({ by: 'test' });
    expect(new Float32Array((await source.read(w?.offset ?? 0, 8)).buffer)).toEqual(new Float32Array([1, 2]));
  });

  it('begins the data at a multiple of 8, or at the room asked for', () => {
    expect(safetensorsHead(specs).length % 8).toBe(0);
    expect(safetensorsHead(specs, {}, 4096).length).toBe(4096);
  });
});
