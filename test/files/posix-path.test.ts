import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { extensionOf, folderOf, nameOf } from '../../src/files/posix-path.ts';

test.each([
  'unet/model.fp16.safetensors',
  'a/b/c.json',
  'config.json',
  '.gitattributes',
  'a/.x',
  'LICENSE',
  'x.',
])('the path %s is taken apart as node:path does', (path) => {
  expect(nameOf(path)).toBe(posix.basename(path));
  expect(extensionOf(path)).toBe(posix.extname(path));
  expect(folderOf(path)).toBe(posix.dirname(path).replace(/^\.$/, ''));
});
