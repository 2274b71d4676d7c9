// Links and declarations of the package, from files of a folder.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { brokenLinks, newerTypes } from '../../scripts/packed-files.mjs';
import { plainTypes } from '../../scripts/setup/plain-types.mjs';

const root = mkdtempSync(join(tmpdir(), 'svc-packed-files-'));
afterAll(() => rmSync(root, { recursive: true }));

function write(files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return Object.keys(files);
}

it('the check of packed files finds links to files and folders that the package lacks', () => {
  const paths = write({
    'README.md':
      '[a](src/cli/README.md) [b](src/server/README.md#fields) [c](models/m) [d](https://x.example/y) [e](#f)',
    'src/cli/README.md': '[a](../server/README.md) [b](command.ts) [c](../../models/m/picture.png)',
    'models/m/picture.png': '',
  });
  expect(brokenLinks(root, paths)).toEqual([
    'README.md → src/server/README.md',
    'src/cli/README.md → src/server/README.md',
  ]);
  expect(brokenLinks(root, [...paths, ...write({ 'src/server/README.md': '' })])).toEqual([]);
});

it('newerTypes() finds declarations that name the buffer of a typed array, and plainTypes() rewrites them', () => {
  const text =
    'read(): Promise<Uint8Array<ArrayBuffer>>; view: DataView<ArrayBufferLike>; sets: Map<Uint8Array, Set<ArrayBuffer>>;';
  const paths = write({ 'dist/a.d.ts': text, 'dist/a.js': text, 'dist/b.d.ts': plainTypes(text) });
  expect(newerTypes(root, paths)).toEqual(['dist/a.d.ts']);
  expect(plainTypes(text)).toBe(
    'read(): Promise<Uint8Array>; view: DataView; sets: Map<Uint8Array, Set<ArrayBuffer>>;',
  );
});
