// Folders of the user's cache that are made of the distribution's own packages: no root, no change to the system.
//
// A folder is filled under another name and renamed when complete, so an interrupted run leaves nothing that counts. Its manifest.json
// says how it is made, or why it cannot be had on this system.

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { AptError, NotInArchive } from './apt.mjs';

/** @param {string} kind @returns {string} the folder of the cache that holds folders of one kind */
export function cacheFolder(kind) {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svc-engine', kind);
}

/** @param {string} folder @returns {string | null} why it cannot be had on this system, as an earlier run found out; null when that is not known */
export function unavailable(folder) {
  const file = join(folder, 'manifest.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')).unavailable ?? null) : null;
}

/**
 * Fills the folder `name` below `parent`. `assemble(work, ready)` puts the contents into `ready` and returns the manifest; `work` is for
 * its own use.
 * @param {{ parent: string, name: string, title: string, assemble: (work: string, ready: string) => object }} folder
 * @returns {string | null} null when it is filled now; else why not, in a sentence
 */
export function fillFolder({ parent, name, title, assemble }) {
  mkdirSync(parent, { recursive: true });
  removeLeftovers(parent);
  const work = mkdtempSync(join(parent, `unpacking-${process.pid}-`));
  const ready = join(work, 'ready');
  mkdirSync(ready);
  try {
    console.log(`Fetching ${title} into ${parent} (once; the system is not changed) ...`);
    writeJson(join(ready, 'manifest.json'), assemble(work, ready));
  } catch (error) {
    if (!(error instanceof AptError)) throw error;
    // Worth remembering only if a retry cannot help.
    if (error instanceof NotInArchive) {
      rmSync(ready, { recursive: true, force: true });
      mkdirSync(ready);
      writeJson(join(ready, 'manifest.json'), { unavailable: error.message });
    }
    return error.message;
  } finally {
    if (existsSync(join(ready, 'manifest.json'))) {
      rmSync(join(parent, name), { recursive: true, force: true });
      renameSync(ready, join(parent, name));
    }
    rmSync(work, { recursive: true, force: true });
  }
  return null;
}

/** @param {string} file a .deb file @param {string} folder where its files go */
export function unpack(file, folder) {
  mkdirSync(folder, { recursive: true });
  const result = spawnSync('dpkg-deb', ['-x', file, folder], { encoding: 'utf8' });
  if (result.status !== 0)
    throw new AptError(`dpkg-deb could not unpack ${basename(file)}: ${result.stderr.trim()}`);
}

/** @param {string} folder @returns {string[]} paths of all files below it */
export function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** @param {string} file @param {object} value */
export function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** Removes folders of runs that were interrupted: their process is gone. */
function removeLeftovers(parent) {
  for (const name of readdirSync(parent)) {
    const pid = name.match(/^unpacking-(\d+)-/)?.[1];
    if (pid && !isRunning(Number(pid))) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
