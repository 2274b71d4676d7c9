// Software Vulkan drivers from the distribution's own archive, unpacked into the user's cache: no root, no change to the system.
//
// Each driver becomes one folder of the cache that can be moved: the shared objects it needs, flat; icd.json, which points beside itself;
// and manifest.json, which src/gpu/vulkan-cache.ts reads. The folder is filled under another name and renamed when complete, so an
// interrupted run leaves nothing that counts.

import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
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
import { basename, dirname, join } from 'node:path';
import { AptError, NotInArchive, downloadPackages } from './apt.mjs';

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'svc-engine', 'vulkan');

// `closure`: download the dependencies too. SwiftShader's library needs nothing, and chromium-common's dependencies are a browser's.
const drivers = {
  lavapipe: {
    title: "Mesa's software Vulkan driver",
    packages: ['mesa-vulkan-drivers', 'libvulkan1'],
    closure: true,
    library: 'libvulkan_lvp.so',
    icd: /^lvp_icd.*\.json$/,
  },
  swiftshader: {
    title: 'SwiftShader',
    packages: ['chromium-common', 'libvulkan1'],
    closure: false,
    library: 'libvk_swiftshader.so',
    icd: /^vk_swiftshader_icd\.json$/,
  },
};

/** Why the driver cannot be had on this system, as an earlier run found out; null when that is not known. */
export function driverNote(name) {
  const file = join(cache, name, 'manifest.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')).unavailable ?? null) : null;
}

/** @returns {string | null} null when the driver is in the cache now; else why not, in a sentence */
export function fetchDriver(name) {
  mkdirSync(cache, { recursive: true });
  removeLeftovers();
  const work = mkdtempSync(join(cache, `unpacking-${process.pid}-`));
  const ready = join(work, 'ready');
  mkdirSync(ready);
  try {
    console.log(`Fetching ${drivers[name].title} into ${cache} (once; the system is not changed) ...`);
    assemble(drivers[name], work, ready);
  } catch (error) {
    if (!(error instanceof AptError)) throw error;
    // Worth remembering only if asking again cannot help.
    if (error instanceof NotInArchive)
      writeJson(join(ready, 'manifest.json'), { unavailable: error.message });
    return error.message;
  } finally {
    if (existsSync(join(ready, 'manifest.json'))) {
      rmSync(join(cache, name), { recursive: true, force: true });
      renameSync(ready, join(cache, name));
    }
    rmSync(work, { recursive: true, force: true });
  }
  return null;
}

function assemble(driver, work, ready) {
  const unpacked = join(work, 'unpacked');
  const packages = downloadPackages(driver.packages, { closure: driver.closure, work: join(work, 'apt') });
  for (const file of packages) {
    const result = spawnSync('dpkg-deb', ['-x', file, unpacked], { encoding: 'utf8' });
    if (result.status !== 0)
      throw new AptError(`dpkg-deb could not unpack ${basename(file)}: ${result.stderr.trim()}`);
  }
  const files = filesIn(unpacked);
  const find = (test) => {
    const found = files.find((file) => test(basename(file)));
    if (!found) throw new AptError(`The packages hold no ${driver.library} or no Vulkan loader.`);
    return found;
  };
  const library = find((file) => file === driver.library);
  const loader = find((file) => file === 'libvulkan.so.1');
  const folders = [
    ...new Set(files.filter((file) => /\.so(\.\d|$)/.test(file)).map((file) => dirname(file))),
  ];
  const libraries = [loader, ...neededBy(library, folders)];
  for (const file of [...libraries, library]) copyFileSync(file, join(ready, basename(file)));

  const icd = JSON.parse(
    readFileSync(
      find((file) => driver.icd.test(file)),
      'utf8',
    ),
  );
  icd.ICD.library_path = `./${driver.library}`; // relative to icd.json
  writeJson(join(ready, 'icd.json'), icd);
  writeJson(join(ready, 'manifest.json'), {
    icd: 'icd.json',
    preload: libraries.map((file) => basename(file)),
    packages: packages.map((file) => basename(file)),
  });
}

/** The libraries among `folders` that `library` needs, dependencies first: who needs fewer comes earlier. */
function neededBy(library, folders) {
  const closure = (file) => {
    const env = { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: folders.join(':') };
    const result = spawnSync('ldd', [file], { encoding: 'utf8', env });
    const missing = result.stdout?.match(/(\S+) => not found/);
    if (result.status !== 0 || missing) {
      throw new AptError(
        `${basename(file)} cannot be loaded here: ${missing ? `${missing[1]} is missing` : result.stderr}.`,
      );
    }
    return [...result.stdout.matchAll(/=> (\S+)/g)]
      .map((match) => match[1])
      .filter((path) => folders.includes(dirname(path)));
  };
  const count = new Map(closure(library).map((file) => [file, closure(file).length]));
  return [...count.keys()].sort((a, b) => count.get(a) - count.get(b));
}

/** Folders of runs that were interrupted: their process is gone. */
function removeLeftovers() {
  for (const name of readdirSync(cache)) {
    const pid = name.match(/^unpacking-(\d+)-/)?.[1];
    if (pid && !isRunning(Number(pid))) rmSync(join(cache, name), { recursive: true, force: true });
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

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
