// The answers of the engine's scheme: the page, scripts, ranges of open files, and nothing else.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { openDiskSource } from '../../../src/files/disk/source-disk.ts';
import { ServedFiles } from '../../../src/host/electron/served-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-served-'));
afterAll(() => rmSync(folder, { recursive: true }));

const bytes = Uint8Array.from({ length: 3 * 2 ** 20 + 17 }, (_, i) => (i * 7919) >> 5);
writeFileSync(join(folder, 'model.bin'), bytes);
writeFileSync(join(folder, 'page.js'), 'export {};');
writeFileSync(join(folder, 'secret.json'), '{}');

const served = new ServedFiles(pathToFileURL(`${folder}/`));
const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  served.answer(new Request(`svc-engine://engine/${path}`, { headers, method }));

async function openModel(): Promise<string> {
  return served.add(await openDiskSource(join(folder, 'model.bin')));
}

test('ranges of a served file have the status and the headers of RFC 9110', async () => {
  const url = await openModel();
  const size = bytes.length;
  const cases: [string | null, number, string | null, number, number][] = [
    [null, 200, null, 0, size],
    ['bytes=0-0', 206, `bytes 0-0/${size}`, 0, 1],
    ['bytes=5-2097160', 206, `bytes 5-2097160/${size}`, 5, 2097161],
    [`bytes=${size - 3}-`, 206, `bytes ${size - 3}-${size - 1}/${size}`, size - 3, size],
    ['bytes=-4', 206, `bytes ${size - 4}-${size - 1}/${size}`, size - 4, size],
    [`bytes=10-${size + 99}`, 206, `bytes 10-${size - 1}/${size}`, 10, size],
    ['bytes=9-3', 200, null, 0, size],
    ['bytes=0-1,4-5', 200, null, 0, size],
    ['lines=0-1', 200, null, 0, size],
  ];
  for (const [range, status, contentRange, first, end] of cases) {
    const response = await get(url, range === null ? {} : { range });
    expect([range, response.status, response.headers.get('content-range')]).toEqual([
      range,
      status,
      contentRange,
    ]);
    expect(response.headers.get('content-length')).toBe(String(end - first));
    const got = new Uint8Array(await response.arrayBuffer());
    expect(Buffer.compare(got, bytes.subarray(first, end)), `${range}`).toBe(0);
  }
  for (const range of [`bytes=${size}-`, 'bytes=-0']) {
    const response = await get(url, { range });
    expect([response.status, response.headers.get('content-range')]).toEqual([416, `bytes */${size}`]);
  }
  const head = await get(url, { range: 'bytes=0-9' }, 'HEAD');
  expect([head.status, head.headers.get('content-length'), head.body]).toEqual([206, '10', null]);
  await served.close(url);
});

test('a served file is read in pieces while its reader takes them', async () => {
  const source = await openDiskSource(join(folder, 'model.bin'));
  const lengths: number[] = [];
  const url = served.add({
    ...source,
    read: (offset, length) => {
      lengths.push(length);
      return source.read(offset, length);
    },
  });
  const reader = (await get(url)).body!.getReader();
  await reader.read();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(lengths).toEqual([2 ** 20, 2 ** 20]);
  await reader.cancel();
  await served.close(url);
});

test('only open files, scripts and the page are answered', async () => {
  const url = await openModel();
  expect((await get(url)).status).toBe(200);
  await served.close(url);
  for (const path of [
    url,
    'files/x',
    'secret.json',
    '../secret.json',
    '..%2fsecret.json',
    'page.../secret.json',
    'a/page.js',
  ])
    expect([path, (await get(path)).status]).toEqual([path, 404]);
  expect(await (await get('page.js')).text()).toBe('export {};');
  expect((await get('missing.js')).status).toBe(404);
  expect((await get('page.js', {}, 'POST')).status).toBe(405);
});

test('the page has a policy without inline code and foreign addresses', async () => {
  const response = await get('index.html');
  const policy = response.headers.get('content-security-policy')!;
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await response.text()).toContain('<script type="module" src="electron-page.js">');
});

test('the reason of a failed read is kept', async () => {
  const source = await openDiskSource(join(folder, 'model.bin'));
  const url = served.add({ ...source, read: async () => Promise.reject(new Error('the disk is gone')) });
  const response = await get(url);
  await expect(response.arrayBuffer()).rejects.toThrow();
  expect(String(served.failure(url))).toContain('the disk is gone');
  await served.close(url);
});
