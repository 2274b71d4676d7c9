// The dependencies, exactly as the lock file has them.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export function installIfStale() {
  if (isInstalled()) return;
  console.log('Installing the dependencies (npm ci) ...');
  // Under `npm start` the path of npm itself is known; npm.cmd on Windows needs a shell.
  const npm = process.env.npm_execpath;
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const result = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
    : spawnSync('npm', args, {
        cwd: root,
        stdio: ['ignore', 'inherit', 'inherit'],
        shell: process.platform === 'win32',
      });
  if (result.status !== 0 || !isInstalled()) {
    throw new Error(
      'npm ci did not install the dependencies (see above): it needs the npm registry or a filled npm cache; try again online.',
    );
  }
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
