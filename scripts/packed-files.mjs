// What must hold of the files of the package: links between its texts, and declarations that older compilers read.

import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { plainTypes } from './setup/plain-types.mjs';

const LINK = /\]\(([^)#\s]+)(?:#[^)]*)?\)/g;

/**
 * Relative links that lead to no file or folder of the package. Those of rooms may also lead to sources and tests, which are in the repository only.
 * @param {string} root
 * @param {readonly string[]} paths of the package's files
 * @returns {string[]} "README.md → src/server/README.md"
 */
export function brokenLinks(root, paths) {
  const packed = new Set(paths);
  const isThere = (path) => packed.has(path) || paths.some((file) => file.startsWith(`${path}/`));
  const texts = paths.filter((path) => path.endsWith('.md') && !path.startsWith('node_modules/'));
  return texts.flatMap((path) => {
    const isRoom = path.startsWith('src/');
    const links = [...readFileSync(join(root, path), 'utf8').matchAll(LINK)].map(([, link]) => link);
    return links
      .filter((link) => !/^[a-z]+:/.test(link))
      .map((link) => posix.normalize(posix.join(posix.dirname(path), link)).replace(/\/$/, ''))
      .filter(
        (link) =>
          !isThere(link) && !(isRoom && /^(src|test|shaders|scripts)\b/.test(link) && !link.endsWith('.md')),
      )
      .map((link) => `${path} → ${link}`);
  });
}

/** @returns {string[]} declarations that name the buffers of typed arrays, as TypeScript does since 5.7 */
export function newerTypes(root, paths) {
  return paths.filter((path) => {
    if (!path.endsWith('.d.ts')) return false;
    const text = readFileSync(join(root, path), 'utf8');
    return plainTypes(text) !== text;
  });
}
