import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDiskFolder, openDiskSource } from '../../../src/files/disk/source-disk.ts';
import { MOST_TEXT_BYTES, readJson, readText } from '../../../src/files/source.ts';
import { shippedFolder } from '../../../src/files/shipped.ts';
import { memorySource } from '../memory-source.ts';

let root: string;
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'svc-source-'))));
afterEach(() => rm(root, { recursive: true }));

it.each(['model.ckpt', 'clip.pt', 'control.pth', 'ip-adapter.BIN'])(
  'a file of torch is a folder of its own: %s',
  async (name) => {
    await writeFile(join(root, name), 'tensors');
    const folder = await openDiskFolder(join(root, name));
    expect(await folder.names()).toEqual([name]);
  },
);

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
    await expect(source.read(40, 20)).rejects.toThrow(
      /a\.bin was cut short to 50 of 100 bytes while it was read/,
    );
    await source.close();
  });
});

it('a file that is written to while it is read is refused: its parts would be of two states', async () => {
  await writeFile(join(root, 'a.bin'), new Uint8Array(100));
  const source = await openDiskSource(join(root, 'a.bin'));
  expect((await source.read(0, 50)).length).toBe(50);
  await utimes(join(root, 'a.bin'), 1, 1);
  await expect(source.read(50, 50)).rejects.toThrow(
    /a\.bin was written to while it was read: open the model again/,
  );
  await source.close();
});

describe('a folder on the disk', () => {
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
    await writeFile(join(root, 'x.txt'), 'x');
    await expect(openDiskFolder(join(root, 'x.txt'))).rejects.toThrow(/is a file: give the folder/);
  });

  it('may be a safetensors file, beside which nothing is found', async () => {
    await writeFile(join(root, 'x.safetensors'), 'x');
    await writeFile(join(root, 'config.json'), '{}');
    const folder = await openDiskFolder(join(root, 'x.safetensors'));
    expect(await folder.names()).toEqual(['x.safetensors']);
    await expect(folder.open('config.json')).rejects.toThrow(/is a file and not a folder with config\.json/);
  });

  it('may be a GGUF file, with nothing but the parts of it', async () => {
    for (const name of ['a-00001-of-00002.gguf', 'a-00002-of-00002.gguf', 'b.gguf'])
      await writeFile(join(root, name), `GGUF\x03\0\0\0${name}`);
    const folder = await openDiskFolder(join(root, 'a-00002-of-00002.gguf'));
    expect(await folder.names()).toEqual(['a-00001-of-00002.gguf', 'a-00002-of-00002.gguf']);
    const source = await folder.open('a-00001-of-00002.gguf');
    expect(source.size).toBe(29);
    await source.close();
  });

  it('is not a GGUF file without the ending, and no other file with it', async () => {
    await writeFile(join(root, 'weights.bin'), 'GGUF\x03\0\0\0');
    await expect(openDiskFolder(join(root, 'weights.bin'))).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/weights\.bin is a GGUF file without the ending \.gguf: rename it/),
    });
    await writeFile(join(root, 'none.gguf'), 'PK');
    await expect(openDiskFolder(join(root, 'none.gguf'))).rejects.toMatchObject({
      code: 'bad_checkpoint',
      message: expect.stringMatching(/none\.gguf is not a sound GGUF file: it does not begin with/),
    });
  });
});

describe('text and JSON files', () => {
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

describe('a path that is not a readable file', () => {
  const refused = (name: string) => openDiskSource(join(root, name)).catch((error: unknown) => error);
  const message = (text: RegExp) => ({ code: 'bad_checkpoint', message: expect.stringMatching(text) });

  it.skipIf(process.platform === 'win32')('is refused at once, by name', async () => {
    execFileSync('mkfifo', [join(root, 'config.json')]);
    await symlink('/dev/zero', join(root, 'model.safetensors'));
    await mkdir(join(root, 'tokenizer.json'));
    const server = createServer().listen(join(root, 'socket'));
    await once(server, 'listening');
    expect(await refused('config.json')).toMatchObject(
      message(/config\.json is a named pipe, and a file is needed/),
    );
    expect(await refused('model.safetensors')).toMatchObject(message(/model\.safetensors is a device/));
    expect(await refused('tokenizer.json')).toMatchObject(message(/tokenizer\.json is a folder/));
    expect(await refused('socket')).toMatchObject(message(/socket is a socket/));
    server.close();
  });

  it('is refused with the reason', async () => {
    await symlink('loop', join(root, 'loop'));
    await writeFile(join(root, 'file'), '');
    expect(await refused('loop')).toMatchObject(
      message(/loop cannot be read \(ELOOP\): its symbolic links lead in a circle/),
    );
    expect(await refused('file/config.json')).toMatchObject(
      message(/\(ENOTDIR\): a part of its path is a file/),
    );
    expect(await refused('x'.repeat(300))).toMatchObject(message(/\(ENAMETOOLONG\)/));
    await expect(openDiskFolder(join(root, 'file', 'sub'))).rejects.toMatchObject(message(/\(ENOTDIR\)/));
  });

  it.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
    'is refused with its permissions if it may not be read',
    async () => {
      await writeFile(join(root, 'config.json'), '{}', { mode: 0 });
      expect(await refused('config.json')).toMatchObject(message(/\(EACCES\): you may not read it/));
      await mkdir(join(root, 'closed'), { mode: 0 });
      const folder = await openDiskFolder(join(root, 'closed'));
      await expect(folder.names()).rejects.toMatchObject(message(/closed cannot be read \(EACCES\)/));
    },
  );

  it('is not read if it is a text beyond the bound', async () => {
    const folder = {
      path: '/m',
      names: async () => [],
      open: async (name: string) => ({ ...memorySource(name, new Uint8Array()), size: MOST_TEXT_BYTES + 1 }),
    };
    await expect(readText(folder, 'config.json')).rejects.toThrow(
      'config.json in /m has 134217729 bytes, and such a file may have 134217728',
    );
  });
});

it('a folder names those within that hold models', async () => {
  const models = await openDiskFolder(dirname(shippedFolder('svc-chat-mini')!));
  expect(await models.models!()).toEqual(expect.arrayContaining(['svc-chat-mini', 'svc-scenes-mini']));
  expect(await (await openDiskFolder(shippedFolder('svc-chat-mini')!)).models!()).toEqual([]);
});
