// src/ to dist/ by plain tsc, the bundle for pages to dist/browser/, and the server's page to dist/web/, when a source is newer than the last good build. The time
// stamp of dist/ itself marks that build.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './packages.mjs';
import { writePlainTypes } from './plain-types.mjs';

const dist = join(root, 'dist');
const src = join(root, 'src');
const tsc = join(root, 'node_modules/typescript/bin/tsc');

/** vitest calls this before the first test: the processes and threads that tests start run the build. */
export const setup = buildIfStale;

export async function buildIfStale() {
  if (isFresh()) return;
  const started = new Date();
  const result = spawnSync(process.execPath, [tsc, '-p', join(root, 'scripts/tsconfig.build.json')], {
    cwd: root,
    encoding: 'utf8',
  });
  if (result.status !== 0) throw new Error(`The build failed:\n${result.stdout}${result.stderr}`);
  removeOrphans();
  writePlainTypes(dist);
  const { bundle } = await import('./bundle.mjs'); // its package is missing until set-up has installed it
  await bundle(join(dist, 'browser'));
  const { bundleWeb } = await import('./bundle-web.mjs');
  await bundleWeb(join(dist, 'web'));
  utimesSync(dist, started, started);
}

function isFresh() {
  if (!existsSync(dist)) return false;
  const built = statSync(dist).mtimeMs;
  const inputs = [
    ...filesIn(src),
    ...filesIn(join(root, 'shaders')),
    join(root, 'scripts/setup/bundle.mjs'),
    join(root, 'scripts/setup/bundle-web.mjs'),
    join(root, 'scripts/setup/notices.mjs'),
    join(root, 'tsconfig.json'),
    join(root, 'scripts/tsconfig.build.json'),
    join(root, 'package-lock.json'),
  ];
  return inputs.every((file) => statSync(file).mtimeMs < built) && orphans().length === 0;
}

function removeOrphans() {
  for (const file of orphans()) rmSync(file);
}

/** Outputs whose source is gone. */
function orphans() {
  return filesIn(dist).filter((file) => {
    if (/^(browser|web)[/\\]/.test(relative(dist, file))) return false; // of the bundler
    const stem = relative(dist, file).replace(/(\.d\.ts|\.js)$/, '');
    return !existsSync(join(src, `${stem}.ts`));
  });
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

// npm runs this file as `prepare`, in a clone and for whoever installs from the repository.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    // Without the packages of development there is nothing to build with, and nothing is asked to be built.
    if (existsSync(tsc)) await buildIfStale();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
