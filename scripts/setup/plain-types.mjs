// Declarations in dist/ that older compilers read: TypeScript names the buffer of typed arrays since 5.7, and earlier versions take no type argument there.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './packages.mjs';

const BUFFER = /\b((?:\w*Array|DataView|Buffer))<(?:ArrayBuffer|ArrayBufferLike|SharedArrayBuffer)>/g;

/** @param {string} text of a declaration file @returns {string} the same without the buffers of typed arrays */
export function plainTypes(text) {
  return text.replaceAll(BUFFER, '$1');
}

/** Rewrites the declarations below a folder. */
export function writePlainTypes(folder) {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    const plain = plainTypes(text);
    if (plain !== text) writeFileSync(file, plain);
  }
}

// `npm run build` runs this file after the compiler.
if (process.argv[1] === fileURLToPath(import.meta.url)) writePlainTypes(join(root, 'dist'));
