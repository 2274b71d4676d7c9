import { mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDiskFolder, openDiskSource } from '../../src/files/source-disk.ts';
import { readJson, readText } from '../../src/files/source.ts';
import { memorySource } from './memory-source.ts';

let root: string;
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'svc-source-'))));
afterEach(() => rm(root, { recursive: true }));

describe('a disk source', () => {
  it('reads any range, also into a given array, from several readers at once', async () => {
    const bytes = Uint8Array.from({ length: 1000 }, (_, at) => at % 251);
    await writeFile(join(root, 'a.bin'), bytes);
    const source = await openDiskSource(join(root, 'a.bin'));
    expect([source.name, source.size]).toEqual(['a.bin', 1000]);
    const reads = await Promise.all([0, 7, 500, 999].map((offset) => source.read(offset, 1000 - offset)));
    expect(reads).toEqual([0, 7, 500, 999].map((offset) => bytes.slice(offset)));
    const target = new Uint8Array(5);
    await source.readInto(100, target.subarray(1, 4));
    expect(target).toEqual(new Uint8Array([0, 100, 101, 102, 0]));
    await source.close();
  });

  it('refuses ranges outside, and says so when the file shrank meanwhile', async () => {
    await writeFile(join(root, 'a.bin'), new Uint8Array(100));
    const source = await openDiskSource(join(root, 'a.bin'));
    await expect(source.read(90, 11)).rejects.toThrow(/11 bytes at 90 of a\.bin, which holds 100/);
    await expect(source.read(-1, 1)).rejects.toThrow(/1 bytes at -1/);
    await truncate(join(root, 'a.bin'), 50);
    await expect(source.read(40, 20)).rejects.toThrow(/cut short .* at byte 50 of 100/);
    await source.close();
  });
});

describe('a folder', () => {
  it('names its files, follows links, and names a dangling one', async () => {
    await writeFile(join(root, 'blob'), '{"a":1}');
    await symlink('blob', join(root, 'config.json'));
    await symlink('gone', join(root, 'model.safetensors'));
    const folder = await openDiskFolder(root);
    expect((await folder.names()).toSorted()).toEqual(['blob', 'config.json', 'model.safetensors']);
    expect(await readJson(folder, 'config.json')).toEqual({ a: 1 });
    await expect(folder.open('model.safetensors')).rejects.toMatchObject({
      code: 'bad_checkpoint',
      message: expect.stringMatching(/model\.safetensors is missing: fetch/),
    });
  });

  it('that is missing, or a file, is refused', async () => {
    await expect(openDiskFolder(join(root, 'nope'))).rejects.toMatchObject({ code: 'model_not_found' });
    await writeFile(join(root, 'x.safetensors'), 'x');
    await expect(openDiskFolder(join(root, 'x.safetensors'))).rejects.toThrow(/is a file: give the folder/);
  });

  it('is asked for where a GGUF file was given, whatever its name', async () => {
    await writeFile(join(root, 'weights.bin'), 'GGUF\x03\0\0\0');
    await expect(openDiskFolder(join(root, 'weights.bin'))).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/is a GGUF file.*fetch the original repository/),
    });
  });
});

describe('text and JSON', () => {
  const folderOf = (bytes: Uint8Array) => ({
    path: '/m',
    names: async () => ['f'],
    open: async (name: string) => memorySource(name, bytes),
  });
  it('that is none is named by file', async () => {
    await expect(readJson(folderOf(Buffer.from('{"a":')), 'config.json')).rejects.toThrow(
      /config\.json in \/m is not JSON \(/,
    );
    await expect(readJson(folderOf(Buffer.from('[1]')), 'config.json')).rejects.toThrow(
      /config\.json in \/m must hold a JSON object/,
    );
    await expect(readText(folderOf(new Uint8Array([0xff])), 'merges.txt')).rejects.toThrow(
      /merges\.txt in \/m is not UTF-8/,
    );
  });
});
