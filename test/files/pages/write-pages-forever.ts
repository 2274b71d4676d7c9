// Writes page after page until it is killed: node --import test/built.mjs write-pages-forever.ts <folder> <bytes>

import { openFileStore } from '../../../src/files/pages/page-store-file.ts';
import { pageName } from '../../../src/files/pages/stored-page.ts';

const [folder = '', size = '0'] = process.argv.slice(2);
const store = await openFileStore(folder, 1e12, () => {});
const bytes = new Uint8Array(Number(size));
for (let index = 0; ; index += 1) {
  await store.write(pageName('model', null, 'scope', String(index)), null, bytes.fill(index));
  if (index === 0) process.stdout.write('writing\n');
}
