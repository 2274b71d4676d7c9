// Software Vulkan drivers from the distribution's own archive, unpacked into the user's cache.
//
// Each driver becomes one folder of the cache that can be moved: the shared objects it needs, flat; icd.json, which points beside itself;
// and manifest.json, which src/gpu/vulkan-cache.ts reads.

import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AptError, downloadPackages } from './apt.mjs';
import { cacheFolder, fillFolder, filesIn, unavailable, unpack, writeJson } from './package-folder.mjs';

const cache = cacheFolder('vulkan');

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

/** @returns {string | null} why the driver cannot be had on this system, as an earlier run found out; null when that is not known */
export function driverNote(name) {
  return unavailable(join(cache, name));
}

/** @returns {string | null} null when the driver is in the cache now; else why not, in a sentence */
export function fetchDriver(name) {
  const driver = drivers[name];
  const assembleDriver = (work, ready) => assemble(driver, work, ready);
  return fillFolder({ parent: cache, name, title: driver.title, assemble: assembleDriver });
}

function assemble(driver, work, ready) {
  const unpacked = join(work, 'unpacked');
  const apt = { closure: driver.closure, newMesa: true, work: join(work, 'apt') };
  const packages = downloadPackages(driver.packages, apt);
  for (const file of packages) unpack(file, unpacked);
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
  return {
    icd: 'icd.json',
    preload: libraries.map((file) => basename(file)),
    packages: packages.map((file) => basename(file)),
  };
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
