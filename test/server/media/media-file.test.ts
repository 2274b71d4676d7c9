import { mkdir, mkdtemp, realpath, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ByteBudget, MediaSource } from '../../../src/server/media/media-source.ts';
import { fileBytes, openReal } from '../../../src/server/media/media-file.ts';

const PIXELS = Buffer.from('the bytes of an image');
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-media-'));
  await mkdir(join(folder, 'allowed', 'below'), { recursive: true });
  await mkdir(join(folder, 'allowed-not'));
  await writeFile(join(folder, 'allowed', 'below', 'a b.png'), PIXELS);
  await writeFile(join(folder, 'allowed-not', 'secret'), 'secret');
  await symlink(join(folder, 'allowed-not', 'secret'), join(folder, 'allowed', 'link'));
});
afterAll(() => rm(folder, { recursive: true }));

const read = (url: string, signal = new AbortController().signal): Promise<Uint8Array> =>
  fileBytes(new URL(url), new MediaSource('image', url, 'media.0'), {
    allowed: join(folder, 'allowed'),
    budget: new ByteBudget(1e7),
    signal,
  });
const urlOf = (...path: string[]): string => pathToFileURL(join(folder, 'allowed', ...path)).href;

it('a file: URL reads a file below the allowed folder', async () => {
  expect(Buffer.from(await read(urlOf('below', 'a b.png')))).toEqual(PIXELS);
});

it('a file: URL reads a file of several pieces to its end, unless the signal aborts', async () => {
  const bytes = Buffer.alloc(2 ** 22 + 12_345, 'a piece of a file');
  await writeFile(join(folder, 'allowed', 'large'), bytes);
  expect(Buffer.compare(await read(urlOf('large')), bytes)).toBe(0);
  await expect(read(urlOf('large'), AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
});

it.each([
  'allowed-not/secret',
  'allowed/link',
  'allowed/../allowed-not/secret',
  'allowed/missing',
  'allowed',
])('a file: URL is refused for %s, which is not below the allowed folder', async (path) => {
  await expect(read(`${pathToFileURL(folder).href}/${path}`)).rejects.toThrow(
    'media.0 names no file below the folder of --allowed-media-path; send one of those, or a data: URI',
  );
});

it('a file: URL of another host is refused, and the host is not contacted', async () => {
  await expect(read('file://host.test/share/a.png')).rejects.toThrow(
    'media.0 names the host host.test, of which no files are read; send file:///<path>',
  );
});

it('a file: URL of a folder is refused', async () => {
  await expect(read(urlOf('below'))).rejects.toThrow('is not a regular file');
});

it('a file: URL is judged by the first bytes before the rest is counted or read', async () => {
  const path = join(folder, 'allowed', 'wrong');
  await writeFile(path, 'no image');
  // Larger than the budget, and than what is read in any time.
  await truncate(path, 2 ** 33);
  const url = pathToFileURL(path).href;
  const source = new MediaSource('image', url, 'media.0');
  const heads: string[] = [];
  const reading = fileBytes(new URL(url), source, {
    allowed: join(folder, 'allowed'),
    budget: new ByteBudget(1e7),
    signal: new AbortController().signal,
    checkHead: (judged, head) => {
      heads.push(Buffer.from(head.subarray(0, 8)).toString());
      throw judged.error('is refused');
    },
  });
  await expect(reading).rejects.toThrow('media.0 is refused');
  expect(heads).toEqual(['no image']);
});

describe('a path of a file: URL that was resolved', () => {
  const source = new MediaSource('image', 'file:///x', 'media.0');
  const openAt = async (...path: string[]): Promise<boolean> => {
    const file = await openReal(join(await realpath(folder), ...path), source);
    await file?.close();
    return file !== null;
  };

  it('opens its file', async () => {
    expect(await openAt('allowed', 'below', 'a b.png')).toBe(true);
  });

  it('opens nothing where a link has taken the place of the file or of a folder above it', async () => {
    await symlink(join(folder, 'allowed-not'), join(folder, 'allowed', 'elsewhere'));
    expect(await openAt('allowed', 'link')).toBe(false);
    expect(await openAt('allowed', 'elsewhere', 'secret')).toBe(false);
  });
});
