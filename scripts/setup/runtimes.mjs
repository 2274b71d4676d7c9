// Bun and Deno, in which the package also runs: installed ones, else those of their npm packages, fetched into the user's cache; else a sentence that
// says why there is none. They are not among the packages of development, which would double what `npm ci` downloads.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { AptError } from './apt.mjs';
import { cacheFolder, fillFolder } from './package-folder.mjs';
import { npm } from './packages.mjs';

/** `run`: arguments before the path of a program. Deno is kept from writing a lock file beside the program. */
export const RUNTIMES = {
  bun: { title: 'Bun', version: '1.4.5', run: [] },
  deno: { title: 'Deno', version: '2.9.6', run: ['run', '--allow-all', '--no-lock'] },
};

/** @typedef {{ path: string, version: string } | { reason: string }} Found */

/** @param {'bun' | 'deno'} name @returns {Found} an installed one, else that of npm, fetched into the cache where that is possible */
export function ensureRuntime(name) {
  const found = findRuntime(name);
  if ('path' in found || process.env[variableOf(name)] || process.platform === 'win32') return found;
  const reason = fetchRuntime(name);
  return reason === null ? findRuntime(name) : { reason: `${found.reason}; ${reason}` };
}

/** @param {'bun' | 'deno'} name @returns {Found} the one that SVC_BUN or SVC_DENO names, else the first of PATH or of the cache that starts */
export function findRuntime(name) {
  const reasons = [];
  for (const path of candidates(name)) {
    const { status, stdout, error } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 30_000 });
    const version = stdout?.match(/\d+\.\d+\.\d+/)?.[0];
    if (status === 0 && version) return { path, version };
    reasons.push(`${path} does not start (${error?.message ?? `it ended with ${status}`})`);
  }
  return { reason: reasons.join('; ') || `no ${name} is in PATH` };
}

function variableOf(name) {
  return `SVC_${name.toUpperCase()}`;
}

function candidates(name) {
  const named = process.env[variableOf(name)];
  if (named) return [named];
  const file = process.platform === 'win32' ? `${name}.exe` : name;
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const fetched = join(cacheFolder('runtimes'), name, 'node_modules/.bin', name);
  return [...folders.map((folder) => join(folder, file)), fetched].filter((path) => existsSync(path));
}

/** @returns {string | null} null when the runtime is in the cache now; else why not, in a sentence */
function fetchRuntime(name) {
  const { title, version } = RUNTIMES[name];
  return fillFolder({
    parent: cacheFolder('runtimes'),
    name,
    title,
    assemble(_, ready) {
      const install = ['install', '--prefix', ready, '--no-audit', '--no-fund', '--loglevel=error'];
      const options = { encoding: 'utf8', timeout: 300_000 };
      const { status, stderr } = npm([...install, `${name}@${version}`], options);
      const reason = stderr?.trim().split('\n')[0] || 'it took too long';
      if (status !== 0) throw new AptError(`npm could not install ${name}@${version}: ${reason}`);
      return { packages: [`${name}@${version}`] };
    },
  });
}
