// Pages in storage are read back intact or not at all, whatever happened to the files.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFileStore } from '../../../src/files/pages/page-store-file.ts';
import type { PageStore } from '../../../src/files/pages/page-store.ts';
import { openSealed, pageName, sealPage } from '../../../src/files/pages/stored-page.ts';
import { weightsIdentity } from '../../../src/files/checkpoint/weights-identity.ts';
import { temporaryFolders } from '../folders.ts';
import { nodeArgs } from '../../started.ts';

const folders = temporaryFolders();
const temporaryFolder = (): Promise<string> => folders({});

const name = (text: string): string => pageName('model', null, 'scope', text);
const page = (seed: number, length = 1000): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i * 31 + seed * 7) & 0xff);

function open(folder: string, most = 1e9): Promise<PageStore> {
  return openFileStore(folder, most, (message) => {
    throw new Error(message);
  });
}

/** Names of consecutive pages. */
function chain(tokens: readonly string[]): string[] {
  const names: string[] = [];
  for (const text of tokens) names.push(pageName('model', names.at(-1) ?? null, 'scope', text));
  return names;
}

/** Writes all pages at once, as the engine does, even if some are stored already. */
async function writeChain(store: PageStore, tokens: readonly string[]): Promise<void> {
  const names = chain(tokens);
  await Promise.all(names.map((key, i) => store.write(key, names[i - 1] ?? null, page(i))));
}

function fileOf(folder: string, key: string): string {
  return join(folder, key.slice(0, 2), `${key}.page`);
}

function allFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((part) => readdirSync(join(folder, part)));
}

describe('names of stored pages', () => {
  it('differ by everything that decides what a page holds', () => {
    const names = [
      pageName('model', null, 'scope', 'tokens'),
      pageName('other', null, 'scope', 'tokens'),
      pageName('model', null, 'salt', 'tokens'),
      pageName('model', null, 'scope', 'token'),
      pageName('model', name('before'), 'scope', 'tokens'),
    ];
    expect(new Set(names).size).toBe(5);
    expect(names[0]).toBe(pageName('model', null, 'scope', 'tokens'));
  });
});

describe('a sealed page', () => {
  const key = name('a');
  it('opens under its own name only', () => {
    expect(openSealed(key, sealPage(key, null, page(1)))).toEqual(page(1));
    expect(openSealed(name('b'), sealPage(key, null, page(1)))).toBeNull();
  });

  it('opens with no byte changed, missing or added', () => {
    const sealed = sealPage(key, null, page(1, 64));
    for (let at = 0; at < sealed.length; at++) {
      const damaged = Buffer.from(sealed);
      damaged[at]! ^= 1 << (at % 8);
      expect(openSealed(key, damaged), `byte ${at}`).toBeNull();
      expect(openSealed(key, sealed.subarray(0, at)), `${at} bytes`).toBeNull();
    }
    expect(openSealed(key, Buffer.concat([sealed, Buffer.alloc(1)]))).toBeNull();
  });
});

describe('the folder of pages', () => {
  it('keeps them beyond its closing', async () => {
    const folder = await temporaryFolder();
    const store = await open(folder);
    await Promise.all([1, 2, 3].map((i) => store.write(name(`p${i}`), null, page(i))));
    await store.close();
    const again = await open(folder);
    expect(await again.leading(['p1', 'p2', 'p3', 'p4'].map(name))).toBe(3);
    expect(await again.leading(['p4', 'p1'].map(name))).toBe(0);
    expect(await again.read(name('p2'))).toEqual(page(2));
    expect(await again.read(name('p4'))).toBeNull();
    expect(again.used).toBe(store.used);
  });

  it.each([
    ['cut short', (file: string) => truncateSync(file, 500)],
    ['empty', (file: string) => truncateSync(file, 0)],
    ['longer', (file: string) => appendFileSync(file, 'x')],
    [
      'changed',
      (file: string) => {
        const bytes = readFileSync(file);
        bytes[700]! ^= 4;
        writeFileSync(file, bytes);
      },
    ],
  ])('finds no page in a file that is %s, and takes a new one', async (_, damage) => {
    const folder = await temporaryFolder();
    await (await open(folder)).write(name('a'), null, page(1));
    damage(fileOf(folder, name('a')));
    const store = await open(folder);
    expect(await store.read(name('a'))).toBeNull();
    expect(await store.leading([name('a')])).toBe(0);
    await store.write(name('a'), null, page(1));
    expect(await store.read(name('a'))).toEqual(page(1));
  });

  it("finds no page in another's file, nor where a file has gone", async () => {
    const folder = await temporaryFolder();
    const store = await open(folder);
    await store.write(name('a'), null, page(1));
    await store.write(name('b'), null, page(2));
    renameSync(fileOf(folder, name('a')), fileOf(folder, name('b')));
    expect(await store.read(name('b'))).toBeNull();
    expect(await store.read(name('a'))).toBeNull();
    expect(store.used).toBe(0);
  });

  it('drops the least recently used above its limit, over restarts too', async () => {
    const folder = await temporaryFolder();
    const first = await open(folder, 10_800);
    for (let i = 0; i < 8; i++) {
      await first.write(name(`p${i}`), null, page(i));
      utimesSync(fileOf(folder, name(`p${i}`)), 1000 + i, 1000 + i);
    }
    const store = await open(folder, 10_800);
    store.touch([name('p0'), name('nowhere')]);
    for (let i = 8; i < 12; i++) await store.write(name(`p${i}`), null, page(i));
    const kept = await Promise.all(Array.from({ length: 12 }, (_, i) => store.leading([name(`p${i}`)])));
    expect(kept.slice(0, 4)).toEqual([1, 0, 0, 1]);
    expect(kept.slice(8)).toEqual([1, 1, 1, 1]);
    expect(store.used).toBeLessThanOrEqual(10_800);
    expect(allFiles(folder)).toHaveLength(kept.filter(Boolean).length);
  });

  it('is emptied from the ends of chains: what stays is found, and a head that many share stays longest', async () => {
    const folder = await temporaryFolder();
    const most = 30 * 1080;
    const head = ['a', 'b', 'c', 'd', 'e', 'f'];
    const prompt = (user: number): string[] => [...head, `${user}1`, `${user}2`, `${user}3`, `${user}4`];
    const found = (store: PageStore): Promise<number[]> =>
      Promise.all(Array.from({ length: 10 }, (_, user) => store.leading(chain(prompt(user)))));
    const store = await open(folder, most);
    for (let user = 0; user < 10; user++) {
      await writeChain(store, prompt(user));
      // As when another prompt finds all its pages on the device.
      store.touch(chain(prompt(0)));
    }
    const before = await found(store);
    expect(before.slice(-3)).toEqual([10, 10, 10]);
    expect(before[0]).toBe(10);
    expect(Math.min(...before)).toBe(6);
    expect(allFiles(folder)).toHaveLength(6 + before.reduce((sum, pages) => sum + pages - 6, 0));
    await store.close();

    for (const key of chain(head)) utimesSync(fileOf(folder, key), 1000, 1000);
    const again = await open(folder, most);
    expect(await found(again)).toEqual(before);
    for (let user = 10; user < 14; user++) await writeChain(again, prompt(user));
    expect(await again.leading(chain(prompt(13)))).toBe(10);
    expect(again.used).toBeLessThanOrEqual(most);
  });

  it('notes on disk that a page is used, once a minute', async () => {
    const folder = await temporaryFolder();
    await writeChain(await open(folder), ['a', 'b', 'c']);
    const files = chain(['a', 'b', 'c']).map((key) => fileOf(folder, key));
    for (const file of files) utimesSync(file, 1000, 1000);
    const store = await open(folder);
    store.touch(chain(['a', 'b', 'elsewhere']));
    const used = (): number[] => files.map((file) => statSync(file).mtimeMs);
    await expect.poll(used).toEqual([1_000_000, expect.closeTo(Date.now(), -4), 1_000_000]);
    utimesSync(files[1]!, 1000, 1000);
    store.touch(chain(['a', 'b', 'elsewhere']));
    await store.write(name('x'), null, page(1));
    expect(used()[1]).toBe(1_000_000);
  });

  it('takes away pages of an older form', async () => {
    const folder = await temporaryFolder();
    await writeChain(await open(folder), ['a', 'b']);
    const [a, b] = chain(['a', 'b']);
    const bytes = readFileSync(fileOf(folder, b!));
    bytes.write('svcpage1', 0, 'latin1');
    writeFileSync(fileOf(folder, b!), bytes);
    const store = await open(folder);
    expect(await store.leading([a!, b!])).toBe(1);
    expect(allFiles(folder)).toEqual([`${a}.page`]);
  });

  it('takes away what a writer that died left, and nothing of one that lives', async () => {
    const folder = await temporaryFolder();
    await open(folder);
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    const left = (pid: number): string => `${fileOf(folder, name('a'))}.${pid}.00000000.tmp`;
    writeFileSync(left(child.pid!), 'half a page');
    writeFileSync(left(process.pid), 'half a page');
    const store = await open(folder);
    expect(allFiles(folder)).toEqual([`${name('a')}.page.${process.pid}.00000000.tmp`]);
    expect(await store.leading([name('a')])).toBe(0);
  });

  it('a process killed while it writes leaves whole pages only', async () => {
    const size = 4_000_000;
    const writer = new URL('write-pages-forever.ts', import.meta.url);
    for (const wait of [3, 12]) {
      const folder = await temporaryFolder();
      const child = spawn(process.execPath, nodeArgs(writer, folder, String(size)));
      await once(child.stdout, 'data');
      await new Promise((resolve) => setTimeout(resolve, wait));
      child.kill('SIGKILL');
      await once(child, 'close');
      const store = await open(folder);
      const whole = allFiles(folder).filter((file) => file.endsWith('.page'));
      expect(whole.length).toBeGreaterThan(0);
      expect(allFiles(folder)).toEqual(whole);
      for (let i = 0; i < whole.length; i++)
        expect((await store.read(name(String(i))))?.every((byte) => byte === (i & 0xff))).toBe(true);
    }
  });

  it('that cannot be is refused by name', async () => {
    const file = join(await temporaryFolder(), 'file');
    writeFileSync(file, '');
    await expect(open(file)).rejects.toMatchObject({ code: 'bad_request', param: 'storageCache' });
  });

  it('is made with all the folders it lies in', async () => {
    const folder = join(await temporaryFolder(), 'a', 'b');
    const store = await open(folder);
    await store.write(name('a'), null, page(1));
    await store.close();
    expect(allFiles(folder)).toHaveLength(1);
  });

  it.runIf(existsSync('/proc/self'))(
    'where there can be none is refused, and not tried for ever',
    async () => {
      await expect(open('/proc/pages')).rejects.toMatchObject({
        code: 'bad_request',
        message: expect.stringContaining('/proc/pages cannot be used (ENOENT)') as string,
      });
    },
  );

  it('that is gone costs pages, and says so once', async () => {
    const folder = await temporaryFolder();
    const messages: string[] = [];
    const store = await openFileStore(folder, 1e9, (message) => messages.push(message));
    for (const part of readdirSync(folder)) renameSync(join(folder, part), join(folder, `${part}-moved`));
    await store.write(name('a'), null, page(1));
    await store.write(name('b'), null, page(1));
    expect(await store.leading([name('a')])).toBe(0);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toContain(folder);
  });
});

it('weights of stored pages are identified by their bytes, wherever they lie', async () => {
  const [a, b] = [await temporaryFolder(), await temporaryFolder()];
  const bytes = Buffer.from(page(5, 100_000));
  for (const folder of [a, b]) {
    writeFileSync(join(folder, 'one'), bytes);
    writeFileSync(join(folder, 'two'), 'x');
  }
  const identity = await weightsIdentity(a, ['one', 'two']);
  expect(await weightsIdentity(b, ['two', 'one'])).toBe(identity);
  expect(await weightsIdentity(a, ['one', 'two'])).toBe(identity);
  bytes[50_000]! ^= 1;
  writeFileSync(join(b, 'one'), bytes);
  expect(await weightsIdentity(b, ['one', 'two'])).not.toBe(identity);
});
