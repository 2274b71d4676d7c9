// Makes the files of test/golden that have a recipe or are packed, where they are missing or older than it. A file bears the time of its source.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { root } from './packages.mjs';
import { made } from './recipe.mjs';

const ENDING = '.recipe.json';
const PACKED = '.gz';

/** vitest calls this before the first test. */
export function setup() {
  makeGoldens();
}

export function makeGoldens(folder = join(root, 'test/golden')) {
  // Recipes may read what is packed.
  for (const path of pathsIn(folder, PACKED))
    makeFile(path, path.slice(0, -PACKED.length), () => gunzipSync(readFileSync(path)));
  for (const path of recipesIn(folder)) makeFile(path, path.slice(0, -ENDING.length), () => dataOf(path));
}

function makeFile(source, file, data) {
  const { mtime } = statSync(source);
  if (statSync(file, { throwIfNoEntry: false })?.mtime.getTime() === mtime.getTime()) return;
  const own = `${file}.${process.pid}`;
  writeFileSync(own, data());
  utimesSync(own, mtime, mtime);
  renameSync(own, file);
}

function dataOf(path) {
  const recipe = JSON.parse(readFileSync(path, 'utf8'));
  const data = made(recipe, (other) => readFileSync(join(dirname(path), other)));
  const digest = createHash('sha256').update(data).digest('hex').slice(0, 16);
  if (digest !== recipe.sha256)
    throw new Error(`${path} makes bytes of digest ${digest}, and states ${recipe.sha256}.`);
  return data;
}

export function recipesIn(folder) {
  return pathsIn(folder, ENDING);
}

function pathsIn(folder, ending) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) makeGoldens();
