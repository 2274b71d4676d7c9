// The engine for pages, as files without imports of packages: one for the page, one for each worker, and those that they share. Shaders
// are in it as text.

import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { build } from 'esbuild';
import { noticesOf } from './notices.mjs';
import { root } from './packages.mjs';

const shaders = join(root, 'shaders');

/** Files of the bundle by their names in dist/browser/, and the sources they start from. */
const ENTRIES = {
  index: 'src/browser.ts',
  chat: 'src/chat/chat.ts',
  'engine-worker': 'src/host/page/worker.ts',
  'text-worker': 'src/host/page/text-worker.ts',
  'video-worker': 'src/host/page/video-worker.ts',
  'electron-page': 'src/host/electron/page.ts',
  'electron-worker': 'src/host/electron/worker.ts',
  'electron-text-worker': 'src/host/electron/text-worker.ts',
};

/** Preload scripts of Electron's windows: sandboxed ones are CommonJS in one file. */
const PRELOADS = {
  'electron-preload': 'src/host/electron/preload.ts',
  'electron-engine-preload': 'src/host/electron/engine-preload.ts',
};

/**
 * @param {string} [outdir]
 * @param {{ extra?: Record<string, string>, plugins?: import('esbuild').Plugin[] }} [more] `extra`: further entries, by the name of their
 * file in the bundle; a path from the project's root each
 * @returns {Promise<import('esbuild').BuildResult<{metafile: true}>>}
 */
export async function bundle(outdir = join(root, 'dist/browser'), { extra = {}, plugins = [] } = {}) {
  rmSync(outdir, { recursive: true, force: true }); // names of shared files change with what is in them
  const settings = {
    outdir,
    bundle: true,
    platform: 'browser',
    target: 'es2023',
    minify: true,
    logLevel: 'silent',
  };
  await build({
    ...settings,
    entryPoints: pointsOf(PRELOADS),
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    external: ['electron'],
    plugins: [WITHOUT_ENGINE],
  });
  const built = await build({
    ...settings,
    entryPoints: pointsOf({ ...ENTRIES, ...extra }),
    plugins: [SHADERS, WITHOUT_NODE, ...plugins],
    splitting: true,
    format: 'esm',
    metafile: true,
    chunkNames: 'shared-[hash]',
  });
  writeFileSync(join(outdir, 'NOTICES.txt'), noticesOf(Object.keys(built.metafile.inputs)));
  return built;
}

/**
 * Leaves out what is imported when it is called: preload scripts are one file each and read the kinds of models, whose engines run elsewhere.
 * @type {import('esbuild').Plugin}
 */
const WITHOUT_ENGINE = {
  name: 'svc-without-engine',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, namespace: 'left-out' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'left-out' }, () => ({ contents: '' }));
  },
};

function pointsOf(entries) {
  return Object.entries(entries).map(([out, file]) => ({ in: join(root, file), out }));
}

/**
 * The encoder of videos asks for Node's modules, and uses them where it runs in Node.
 * @type {import('esbuild').Plugin}
 */
const WITHOUT_NODE = {
  name: 'svc-without-node',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(path|fs|crypto)$/ }, ({ path, importer }) =>
      importer.includes('h264-mp4-encoder') ? { path, namespace: 'of-node' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'of-node' }, () => ({ contents: '' }));
  },
};

/**
 * Replaces src/gpu/browser-shaders.ts by the texts of all shaders.
 * @type {import('esbuild').Plugin}
 */
const SHADERS = {
  name: 'svc-shaders',
  setup({ onLoad }) {
    onLoad({ filter: /gpu[/\\]browser-shaders\.ts$/ }, () => ({
      contents: `export const SHADERS = ${JSON.stringify(shaderTexts())};`,
    }));
  },
};

function shaderTexts() {
  const files = readdirSync(shaders, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith('.wgsl'),
  );
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath ?? entry.path, entry.name);
      return [relative(shaders, path).split(sep).join('/'), readFileSync(path, 'utf8')];
    }),
  );
}
