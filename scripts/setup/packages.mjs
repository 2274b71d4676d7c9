// The dependencies, exactly as the lock file has them.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export function installIfStale() {
  if (isInstalled()) return;
  console.log('Installing the dependencies (npm ci) ...');
  const result = npm(['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (result.status !== 0 || !isInstalled()) {
    throw new Error(
      'npm ci did not install the dependencies (see above): it needs the npm registry or a filled npm cache; try again online.',
    );
  }
}

/** Runs npm. Under `npm start` the path of npm itself is known; otherwise npm.cmd on Windows needs a shell. */
export function npm(args, options) {
  const script = process.env.npm_execpath;
  if (script?.endsWith('.js')) return spawnSync(process.execPath, [script, ...args], options);
  return spawnSync('npm', args, { ...options, shell: process.platform === 'win32' });
}

/** npm notes what it installed in node_modules/.package-lock.json; packages for other platforms are optional and may be absent. */
function isInstalled() {
  const installed = readPackages(`${root}node_modules/.package-lock.json`);
  const locked = readPackages(`${root}package-lock.json`);
  return Object.entries(locked).every(
    ([path, entry]) =>
      path === '' || installed[path]?.version === entry.version || (entry.optional && !installed[path]),
  );
}

function readPackages(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {};
}
