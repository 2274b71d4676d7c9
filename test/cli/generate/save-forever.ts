// Saves image after image until it is killed: node --import test/built.mjs save-forever.ts <folder> <bytes>

import { join } from 'node:path';
import { saveNew } from '../../../src/cli/generate/image-file.ts';

const [folder = '', size = '0'] = process.argv.slice(2);
const bytes = new Uint8Array(Number(size)).fill(7);
for (let index = 0; ; index += 1) {
  await saveNew(join(folder, `${index}.png`), bytes);
  if (index === 0) process.stdout.write('saving\n');
}
