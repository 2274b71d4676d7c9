// A browser from Debian's packages, unpacked into the user's cache: the browser whole, and beside it the libraries that this system lacks.

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { NotInArchive, downloadPackages } from './apt.mjs';
import { cacheFolder, fillFolder, filesIn, unpack, unavailable } from './package-folder.mjs';

/**
 * @typedef {object} Browser
 * @property {string} name folder of the browser in the cache
 * @property {string} variable environment variable that names a program
 * @property {string[]} names programs that are looked for in PATH
 * @property {string} title
 * @property {string[]} packages those that are unpacked whole
 * @property {string} folder where the packages put the program and its own libraries, from the root
 * @property {Record<string, string>} programs files in `folder` that are started, by the scripts of the cache that start them; one is `start`
 * @property {string} binary file in `folder` that needs the libraries
 */

/** @typedef {{ path: string, version: string } | { reason: string }} Found */

/**
 * @param {Browser} browser @param {() => Promise<Found>} find
 * @returns {Promise<Found>} an installed browser, else Debian's, fetched into the cache where that is possible
 */
export async function ensureBrowser(browser, find) {
  const cached = browserFolder(browser.name);
  const found = await find();
  const isFetched = existsSync(join(cached, 'start')); // one that does not work here would not work if it were fetched again
  if ('path' in found || process.env[browser.variable] || process.platform !== 'linux' || isFetched)
    return found;
  const reason = unavailable(cached) ?? fetchBrowser(browser);
  if (reason !== null) return { reason: `${found.reason}; ${reason}` };
  return find();
}

/** @param {Browser} browser @returns {string[]} the program that the browser's variable names, else those of PATH and of the cache */
export function candidatesOf({ name, names, variable }) {
  const named = process.env[variable];
  if (named) return [named];
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const installed = names.flatMap((each) => folders.map((folder) => join(folder, each)));
  return [...installed, join(browserFolder(name), 'start')].filter((path) => existsSync(path));
}

/** @param {string} name @returns {string} the folder of a browser in the cache, where the file `start` starts it */
export function browserFolder(name) {
  return join(cacheFolder('browsers'), name);
}

/** @param {Browser} browser @returns {string | null} null when it is in the cache now; else why not, in a sentence */
export function fetchBrowser(browser) {
  const { name, title } = browser;
  const assemble = (work, ready) => assembleBrowser(browser, work, ready);
  return fillFolder({ parent: cacheFolder('browsers'), name, title, assemble });
}

function assembleBrowser(browser, work, ready) {
  const packages = downloadPackages(browser.packages, { closure: true, work: join(work, 'apt') });
  const isBrowser = (file) => browser.packages.includes(basename(file).split('_')[0]);
  for (const file of packages.filter(isBrowser)) unpack(file, ready);
  const others = packages.filter((file) => !isBrowser(file));
  const used = addLibraries(browser, others, join(work, 'libraries'), ready);
  rmSync(join(ready, 'usr/share'), { recursive: true, force: true });
  for (const [script, program] of Object.entries(browser.programs))
    writeFileSync(join(ready, script), startScript(browser.folder, program), { mode: 0o755 });
  return { packages: [...packages.filter(isBrowser), ...used].map((file) => basename(file)) };
}

const startScript = (folder, program) => `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$here/${folder}:$here/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/${folder}/${program}" "$@"
`;

/** Copies into lib/ the libraries that the browser does not find. @returns the packages that they are from */
function addLibraries({ title, folder, binary }, packages, work, ready) {
  const lib = join(ready, 'lib');
  mkdirSync(lib);
  const libraries = new Map();
  for (const file of packages) {
    const unpacked = join(work, basename(file));
    unpack(file, unpacked);
    const paths = filesIn(unpacked).filter((path) => /\.so(\.|$)/.test(path) && existsSync(path));
    libraries.set(file, paths);
  }
  const own = join(ready, folder);
  const missing = () => missingOf(join(own, binary), `${own}:${lib}`);
  return addMissing(title, libraries, missing, (path) => copyFileSync(path, join(lib, basename(path))));
}

/**
 * Adds the packages that have missing libraries, each as a whole, since libraries open others of their package by name, until nothing is
 * missing. Exported for its test.
 * @param {string} title of the program
 * @param {Map<string, string[]>} libraries paths by package
 * @param {() => string[]} missing names of the libraries that are missing now
 * @param {(path: string) => void} add
 * @returns {string[]} the packages
 */
export function addMissing(title, libraries, missing, add) {
  const used = new Set();
  const added = new Set();
  for (let names = missing(); names.length > 0; names = missing()) {
    const before = used.size;
    for (const name of names.filter((name) => !added.has(name))) {
      const holder = [...libraries].find(([, paths]) => paths.some((path) => basename(path) === name));
      if (holder === undefined || used.has(holder[0])) continue;
      used.add(holder[0]);
      for (const path of holder[1]) {
        add(path);
        added.add(basename(path));
      }
    }
    if (used.size === before)
      throw new NotInArchive(
        `${title} needs ${names.join(', ')}, which no package that it depends on contains.`,
      );
  }
  return [...used];
}

/** Names of the libraries that a program does not find in `folders` or in the system. */
function missingOf(program, folders) {
  const env = { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: folders };
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8', env });
  return [...new Set([...(stdout ?? '').matchAll(/(\S+) => not found/g)].map((match) => match[1]))];
}
