// The page that `svc serve` shows: src/web/ as an HTML file, a style sheet and modules whose names change with what is in them.

import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { noticesOf } from './notices.mjs';
import { root } from './packages.mjs';

/**
 * @param {string} [outdir]
 * @returns {Promise<import('esbuild').BuildResult<{metafile: true}>>}
 */
export async function bundleWeb(outdir = join(root, 'dist/web')) {
  rmSync(outdir, { recursive: true, force: true });
  const built = await build({
    entryPoints: { page: join(root, 'src/web/main.tsx') },
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    logLevel: 'silent',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    metafile: true,
    legalComments: 'none',
    chunkNames: 'part-[hash]',
  });
  copyFileSync(join(root, 'src/web/index.html'), join(outdir, 'index.html'));
  writeFileSync(join(outdir, 'NOTICES.txt'), noticesOf(Object.keys(built.metafile.inputs)));
  return built;
}
