// Choosing the packages whose libraries a fetched browser lacks.

import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { addMissing } from '../../scripts/setup/browser-package.mjs';

const LIBRARIES = new Map([
  ['glib', ['/u/libglib.so.0', '/u/libgobject.so.0']],
  ['nss', ['/u/libnss.so', '/u/nss/libsoftokn.so']],
  ['nspr', ['/u/libnspr.so']],
]);

/** What is missing of a program that needs `names`; libnss.so needs libnspr.so. */
function system(names) {
  const present = [];
  const needed = () => [...names, ...(present.includes('libnss.so') ? ['libnspr.so'] : [])];
  const missing = () => needed().filter((name) => !present.includes(name));
  return { present, missing, add: (path) => present.push(basename(path)) };
}

it('addMissing() takes packages whole, also if several missing libraries are of one package', () => {
  const { present, missing, add } = system(['libglib.so.0', 'libgobject.so.0']);
  expect(addMissing('Chromium', LIBRARIES, missing, add)).toEqual(['glib']);
  expect(present).toEqual(['libglib.so.0', 'libgobject.so.0']);
});

it('addMissing() continues with what the added libraries need', () => {
  const { present, missing, add } = system(['libnss.so']);
  expect(addMissing('Chromium', LIBRARIES, missing, add)).toEqual(['nss', 'nspr']);
  expect(present).toEqual(['libnss.so', 'libsoftokn.so', 'libnspr.so']);
});

it('addMissing() ends if no package has a library', () => {
  const { missing, add } = system(['libglib.so.0', 'libother.so.1']);
  expect(() => addMissing('Chromium', LIBRARIES, missing, add)).toThrow(
    'Chromium needs libother.so.1, which no package',
  );
});
