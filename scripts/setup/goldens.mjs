// Makes the tensor files of test/golden that have a recipe, where they are missing or older than it. A file bears the time of its recipe.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './packages.mjs';
import { made } from './recipe.mjs';

const ENDING = '.recipe.json';

/** vitest calls this before the first test. */
export function setup() {
  makeGoldens();
}

export function makeGoldens(folder = join(root, 'test/golden')) {
  for (const path of recipesIn(folder)) {
    const { mtime } = statSync(path);
    const file = path.slice(0, -ENDING.length);
    if (statSync(file, { throwIfNoEntry: false })?.mtime.getTime() === mtime.getTime()) continue;
    const recipe = JSON.parse(readFileSync(path, 'utf8'));
    const data = made(recipe, (other) => readFileSync(join(dirname(path), other)));
    const digest = createHash('sha256').update(data).digest('hex').slice(0, 16);
    if (digest !== recipe.sha256)
      throw new Error(`${path} makes bytes of digest ${digest}, and states ${recipe.sha256}.`);
    const own = `${file}.${process.pid}`;
    writeFileSync(own, data);
    utimesSync(own, mtime, mtime);
    renameSync(own, file);
  }
}

export function recipesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ENDING))
    .map((name) => join(folder, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) makeGoldens();
