// Every variant of every shader that its imports allow. No list is kept: `#import "lib/rows.$LANES.wgsl"` has as many variants as files
// match.

import { readdirSync, readFileSync } from 'node:fs';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { link } from '../dist/gpu/linker.js';

const folder = new URL('../shaders/', import.meta.url);
/** Paths below shaders/. */
export const files = readdirSync(fileURLToPath(folder), { recursive: true })
  .map((path) => path.split(sep).join('/'))
  .filter((path) => path.endsWith('.wgsl'));
/** Texts by path. */
export const texts = new Map(files.map((path) => [path, readFileSync(new URL(path, folder), 'utf8')]));

/** Shaders themselves; what they import lies in folders. */
export const shaders = files.filter((path) => !path.includes('/'));

/** Storage formats, of which there are many. */
const STORAGE = ['W', 'SOURCE'];

/**
 * Every variant of one shader: its parameters, and the files that it consists of.
 * @returns {Generator<{ params: Record<string, string | number>, imports: Set<string> }>}
 */
export function* variantsOf(name) {
  for (const params of choicesOf(name)) {
    const imports = reachedBy(name, params);
    // One parameter may pick two imports, only one of which has a file of this name.
    if ([...imports].every((path) => texts.has(path))) yield { params, imports };
  }
}

/**
 * Parameter sets for every choice that the imports of a shader leave open. A storage format after the first is only combined with the
 * first value of each other parameter: its file declares the same names, and does not see the others.
 */
function* choicesOf(name, params = {}, isBrief = false) {
  const open = openImport(name, params);
  if (open === null) {
    yield params;
    return;
  }
  const [, key] = open.match(/\$(\w+)/);
  const pattern = new RegExp(
    `^${open.replaceAll('.', '\\.').replace(`$${key}`, '([\\w-]+)').replace(/\$\w+/g, '[\\w-]+')}$`,
  );
  const values = new Set(files.map((file) => file.match(pattern)?.[1]).filter(Boolean));
  if (values.size === 0) throw new Error(`${name}: no file matches the import ${open}`);
  for (const [at, value] of (isBrief ? [...values].slice(0, 1) : [...values]).entries()) {
    const chosen = { ...params, [key]: /^\d+$/.test(value) ? Number(value) : value };
    yield* choicesOf(name, chosen, isBrief || (STORAGE.includes(key) && at > 0));
  }
}

/** The first import of `name` or of its imports that still holds a parameter; null: all parameters have values. */
function openImport(name, params) {
  for (const path of reachedBy(name, params)) if (path.includes('$')) return path;
  return null;
}

function reachedBy(name, params, seen = new Set()) {
  seen.add(name);
  for (const [, path] of (texts.get(name) ?? '').matchAll(/^#import\s+"([^"]+)"/gm)) {
    const settled = path.replace(/\$(\w+)/g, (whole, key) => params[key] ?? whole);
    if (!seen.has(settled)) reachedBy(settled, params, seen);
  }
  return seen;
}

/** Links one variant. */
export function linkVariant(name, params) {
  return link(read, name, params);
}

/** @returns {string} the text of a file of shaders/ */
export function read(path) {
  const text = texts.get(path);
  if (text === undefined) throw new Error(`no file shaders/${path}`);
  return text;
}

/** Names of the extensions that a linked text enables. */
export function enabledBy(code) {
  return [...code.matchAll(/^enable\s+([^;]+);/gm)].flatMap(([, names]) => names.trim().split(/\s*,\s*/));
}
