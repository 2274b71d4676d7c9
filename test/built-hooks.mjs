// Module hooks of test/built.mjs, and where the build of a source is.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';

const root = new URL('..', import.meta.url).href;

/** Returns a source's file in the build; null for other files. */
export function builtUrl(url) {
  const isSource = url.startsWith(`${root}src/`) && url.endsWith('.ts');
  return isSource ? `${root}dist/${url.slice(`${root}src/`.length, -3)}.js` : null;
}

export async function resolve(specifier, context, next) {
  const { parentURL } = context;
  if (!specifier.startsWith('.') && !specifier.startsWith('file:')) return next(specifier, context);
  const url = new URL(specifier, parentURL).href;
  return next(builtUrl(url) ?? url, context);
}

export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
  const source = await readFile(fileURLToPath(url), 'utf8');
  const { code } = await transform(source, {
    loader: 'ts',
    format: 'esm',
    target: 'es2023',
    sourcemap: 'inline',
  });
  return { format: 'module', source: code, shortCircuit: true };
}
