// Processes that tests start. They run the build in dist/, which loads in a fraction of the time that the sources take.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { builtUrl } from './built-hooks.mjs';

const hooks = fileURLToPath(new URL('built.mjs', import.meta.url));

/**
 * Returns the arguments with which node runs a script: a file of src/ itself, or TypeScript of the tests, whose imports from src/ then come from the
 * build. `url`: where the script lies; left out: the program follows by `-e`.
 */
export function nodeArgs(url: URL | null, ...args: string[]): string[] {
  const built = url === null ? null : builtUrl(url.href);
  if (built !== null) return [fileURLToPath(built), ...args];
  return ['--import', hooks, ...(url === null ? [] : [fileURLToPath(url)]), ...args];
}

/** Files that `bundledArgs` made, by the script's address. */
const bundles = new Map<string, string>();

/**
 * Returns what `nodeArgs` does for TypeScript that imports nothing but files of the tests and of src/, and reads no address of its own: the
 * script is one file of JavaScript, which starts in half the time.
 */
export function bundledArgs(url: URL, ...args: string[]): string[] {
  const known = bundles.get(url.href) ?? bundleOf(url);
  bundles.set(url.href, known);
  return [known, ...args];
}

function bundleOf(url: URL): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(url)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    external: ['../src/*', '../../src/*'],
  });
  const source = new URL('../src/', import.meta.url).href;
  const text = outputFiles[0]!.text.replace(
    /"(?:\.\.\/)+src\/([^"]+)"/g,
    (_, path: string) => `"${builtUrl(source + path)}"`,
  );
  const file = join(mkdtempSync(join(tmpdir(), 'svc-started-')), 'script.mjs');
  writeFileSync(file, text);
  return file;
}
