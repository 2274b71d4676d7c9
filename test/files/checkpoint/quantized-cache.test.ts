import { mkdir, mkdtemp, open, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  packedKey,
  readPacked,
  writePacked,
  type PackedKey,
} from '../../../src/files/checkpoint/quantized-cache.ts';
import type { PackedEntry } from '../../../src/files/checkpoint/packed-file.ts';
import { readSafetensors } from '../../../src/files/tensors/safetensors.ts';
import { openDiskSource } from '../../../src/files/disk/source-disk.ts';

let root: string;
let model: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-packed-'));
  model = join(root, 'My model');
  await mkdir(model);
  await writeFile(join(model, 'model.safetensors'), 'weights');
  vi.stubEnv('XDG_CACHE_HOME', join(root, 'cache'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true });
});

const keyOf = (changes: Partial<Parameters<typeof packedKey>[0]> = {}) =>
  packedKey({ path: model, shards: ['model.safetensors'], quantization: 'int4', layout: '1', ...changes });

const bytesOf = (length: number, seed: number) =>
  Uint8Array.from({ length }, (_, at) => (at * 31 + seed) & 255);

function* entries(): Generator<PackedEntry> {
  yield { name: 'a.weight', chunks: [bytesOf(64, 1), bytesOf(32, 2)] };
  yield { name: 'b.weight', chunks: [] };
  yield { name: 'c.weight', chunks: [bytesOf(8, 3)] };
}

const left = async (key: PackedKey) => (await readdir(dirname(key.file))).toSorted();

describe('packed weights in the cache', () => {
  it('is read back, tensor by tensor, and is a sound safetensors file', async () => {
    const key = await keyOf();
    expect(await readPacked(key)).toBeNull();
    await writePacked(key, entries(), { group: '32' });
    const packed = await readPacked(key);
    expect(packed?.metadata).toEqual({ group: '32' });
    expect(
      [...(packed?.tensors.values() ?? [])].map(({ name, dtype, shape }) => [name, dtype, shape]),
    ).toEqual([
      ['a.weight', 'U32', [24]],
      ['b.weight', 'U32', [0]],
      ['c.weight', 'U32', [2]],
    ]);
    const a = packed?.tensors.get('a.weight');
    expect(await a?.source.read(a.offset, a.bytes)).toEqual(
      Uint8Array.from([...bytesOf(64, 1), ...bytesOf(32, 2)]),
    );
    await packed?.close();
    const source = await openDiskSource(key.file);
    expect((await readSafetensors(source)).tensors.size).toBe(3);
    await source.close();
    expect(await left(key)).toHaveLength(1);
  });

  it('may come from an asynchronous stream that reuses its buffer', async () => {
    const key = await keyOf();
    const buffer = new Uint8Array(4);
    async function* chunks() {
      for (const value of [1, 2, 3]) yield buffer.fill(value);
    }
    async function* stream() {
      yield { name: 'x', chunks: chunks() };
    }
    await writePacked(key, stream());
    const packed = await readPacked(key);
    const x = packed?.tensors.get('x');
    expect(await x?.source.read(x.offset, x.bytes)).toEqual(
      new Uint8Array([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]),
    );
    await packed?.close();
  });

  it('lies in the cache folder of the user, under a name that tells the model', async () => {
    const { file } = await keyOf();
    expect(file).toMatch(/\/cache\/svc-engine\/packed\/My_model-[0-9a-f]{8}-int4-[0-9a-f]{16}\.safetensors$/);
    vi.stubEnv('XDG_CACHE_HOME', 'relative');
    expect((await keyOf()).file).toContain('/.cache/svc-engine/packed/');
  });
});

describe('a key of the cache', () => {
  it('changes with path, size, time, quantization and layout, and with nothing else', async () => {
    const first = await keyOf();
    expect(await keyOf()).toEqual(first);
    const keys = [first, await keyOf({ quantization: 'int8' }), await keyOf({ layout: '2' })];
    await utimes(join(model, 'model.safetensors'), 1, 1);
    keys.push(await keyOf());
    await writeFile(join(model, 'model.safetensors'), 'weights!');
    await utimes(join(model, 'model.safetensors'), 1, 1);
    keys.push(await keyOf());
    await mkdir(join(root, 'b', 'My model'), { recursive: true });
    await writeFile(join(root, 'b', 'My model', 'model.safetensors'), 'weights!');
    await utimes(join(root, 'b', 'My model', 'model.safetensors'), 1, 1);
    keys.push(await keyOf({ path: join(root, 'b', 'My model') }));
    expect(new Set(keys.map(({ file }) => file)).size).toBe(keys.length);
    expect(new Set(keys.map(({ identity }) => identity)).size).toBe(keys.length);
  });
});

describe('a cache file that differs from what was written', () => {
  /** Writes a file, damages it, and returns the result of reading it. */
  async function afterDamage(damage: (file: string) => Promise<void>): Promise<unknown> {
    const key = await keyOf();
    await writePacked(key, entries(), { group: '32' });
    await damage(key.file);
    const packed = await readPacked(key);
    await packed?.close();
    if (packed === null) expect(await stat(key.file).catch(() => 'gone')).toBe('gone');
    return packed;
  }
  async function flip(file: string, at: number): Promise<void> {
    const handle = await open(file, 'r+');
    const byte = new Uint8Array(1);
    await handle.read(byte, 0, 1, at);
    await handle.write(
      byte.map((value) => value ^ 1),
      0,
      1,
      at,
    );
    await handle.close();
  }
  async function replace(file: string, from: string, to: string): Promise<void> {
    const text = await readFile(file, 'latin1');
    expect(text).toContain(from);
    await writeFile(file, text.replace(from, to), 'latin1');
  }

  it.each<[string, (file: string) => Promise<void>]>([
    ['a flipped bit in the last tensor', async (file) => flip(file, (await stat(file)).size - 1)],
    ['a flipped bit in the first', async (file) => flip(file, 1 << 20)],
    ['a name', (file) => replace(file, 'a.weight', 'd.weight')],
    ['metadata', (file) => replace(file, '"group":"32"', '"group":"64"')],
    ['the identity', (file) => replace(file, '\\"layout\\":\\"1\\"', '\\"layout\\":\\"2\\"')],
    ['cut short', async (file) => writeFile(file, (await readFile(file)).subarray(0, -4))],
    ['longer', async (file) => writeFile(file, 'xxxx', { flag: 'a' })],
    ['empty', (file) => writeFile(file, '')],
  ])('is a miss and is removed: %s', async (_, damage) => {
    expect(await afterDamage(damage)).toBeNull();
  });

  it('does not include an untouched one, which stays', async () => {
    expect(await afterDamage(async () => {})).not.toBeNull();
  });
});

describe('writing to the cache', () => {
  it('that fails leaves nothing, and the error is the source’s own', async () => {
    const key = await keyOf();
    const failure = new Error('device lost');
    function* failing(): Generator<PackedEntry> {
      yield* entries();
      throw failure;
    }
    await expect(writePacked(key, failing())).rejects.toBe(failure);
    expect(await left(key)).toEqual([]);
    await expect(writePacked(key, [...entries(), ...entries()])).rejects.toThrow(
      /a\.weight was packed twice/,
    );
    await expect(writePacked(key, [{ name: 'x', chunks: [new Uint8Array(6)] }])).rejects.toThrow(
      /6 bytes, not whole words/,
    );
    expect(await left(key)).toEqual([]);
  });

  it('keeps a file that is read meanwhile until the new one is whole', async () => {
    const key = await keyOf();
    await writePacked(key, entries());
    function* failing(): Generator<PackedEntry> {
      yield { name: 'half', chunks: [new Uint8Array(4)] };
      throw new Error('stop');
    }
    await expect(writePacked(key, failing())).rejects.toThrow('stop');
    const packed = await readPacked(key);
    expect([...(packed?.tensors.keys() ?? [])]).toContain('a.weight');
    await packed?.close();
  });

  it('clears older states of the same model and what dead writers left, and nothing else', async () => {
    const old = await keyOf();
    const int8 = await keyOf({ quantization: 'int8' });
    await writePacked(old, entries());
    await writePacked(int8, entries());
    const dead = `${old.file}.${2 ** 30}.0123abcd.tmp`;
    const alive = `${old.file}.${process.pid}.0123abcd.tmp`;
    await Promise.all([dead, alive, join(dirname(old.file), 'notes.txt')].map((file) => writeFile(file, '')));
    await utimes(join(model, 'model.safetensors'), 1, 1);
    const current = await keyOf();
    await writePacked(current, entries());
    const names = [current.file, int8.file, alive, 'notes.txt'].map((file) =>
      file.slice(file.lastIndexOf('/') + 1),
    );
    expect(await left(current)).toEqual(names.toSorted());
  });

  it('says where it could not write', async () => {
    await writeFile(join(root, 'cache'), 'a file where a folder should be');
    await expect(writePacked(await keyOf(), entries())).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/cannot be written to .*\(E(NOTDIR|EXIST)\)/),
    });
  });
});
