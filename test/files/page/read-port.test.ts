// Files that the page reads itself, over real message ports.

import { afterEach, expect, it } from 'vitest';
import {
  openPosted,
  postedFiles,
  sharedFiles,
  type PostedFiles,
  type ReadableFile,
} from '../../../src/files/page/model-source.ts';

const ports: MessagePort[] = [];
afterEach(() => ports.splice(0).forEach((port) => port.close()));

const readable = (name: string, bytes: readonly number[]): ReadableFile => ({
  name,
  size: bytes.length,
  read: (offset, length) => Uint8Array.from(bytes.slice(offset, offset + length)),
});

/** Posts the files as the page does, and returns the form that its worker receives. */
function posted(files: ReadableFile[]): PostedFiles {
  const { posted } = postedFiles(files);
  keep(posted);
  return posted;
}

function keep(posted: PostedFiles): void {
  if (posted.kind === 'read') ports.push(posted.port);
}

async function bytesOf(posted: PostedFiles, folder: string, name: string): Promise<number[]> {
  const source = await (await openPosted('page:m', posted).open(folder)).open(name);
  return [...(await source.read(0, source.size))];
}

it('concurrent reads of several folders get the bytes of their own files', async () => {
  const model = openPosted(
    'page:m',
    posted([readable('a/x.bin', [1, 2, 3]), readable('b/x.bin', [4, 5, 6])]),
  );
  const sources = await Promise.all(['a', 'b'].map(async (path) => (await model.open(path)).open('x.bin')));
  const read = await Promise.all(sources.map((source) => source.read(0, 3)));
  expect(read.map((bytes) => [...bytes])).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ]);
});

it('a further worker reads the files over a port of its own', async () => {
  const first = posted([readable('a.bin', [1, 2]), readable('b.bin', [3, 4])]);
  const { posted: second, transfer } = sharedFiles(first);
  keep(second);
  expect(transfer).toEqual([(second as { port: MessagePort }).port]);
  const read = await Promise.all([bytesOf(first, '', 'a.bin'), bytesOf(second, '', 'b.bin')]);
  expect(read).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

it('an error of the page names the file that was read', async () => {
  const broken: ReadableFile = {
    name: 'a.bin',
    size: 2,
    read: () => {
      throw new Error('the disk is gone');
    },
  };
  const short = { ...readable('b.bin', [1]), size: 2 };
  const files = posted([broken, short]);
  const folder = await openPosted('page:m', files).open('');
  await expect((await folder.open('a.bin')).read(0, 2)).rejects.toMatchObject({
    code: 'bad_checkpoint',
    param: 'a.bin',
    message: expect.stringContaining('the disk is gone') as string,
  });
  await expect((await folder.open('b.bin')).read(0, 2)).rejects.toThrow('1 bytes for 2 at 0');
});
