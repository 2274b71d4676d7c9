// RADV, Mesa's Vulkan driver for AMD's GPUs, whose null device compiles kernels on a machine without such a GPU. The distribution's packages go
// into the user's cache; tcc, the smallest C compiler, makes the driver around it that lets Dawn open that device (compiled/null-device.c).

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AptError, NotInArchive, downloadPackages } from './apt.mjs';
import { cacheFolder, fillFolder, filesIn, unavailable, unpack, writeJson } from './package-folder.mjs';
import { root } from './packages.mjs';

const SOURCE = join(root, 'scripts/compiled/null-device.c');
const PARENT = cacheFolder('vulkan');
const NAME = 'radv';
const PACKAGES = ['mesa-vulkan-drivers', 'libelf1', 'libdrm-amdgpu1', 'tcc'];
const LIBRARIES = [/^libvulkan_radeon\.so$/, /^libelf\.so\.1$/, /^libdrm_amdgpu\.so\.1$/];

/**
 * @returns {{ environment: object } | { reason: string }} the variables with which Dawn finds the null device of `gpu`, a name of Mesa's
 *   (`navi31`), and with which the driver writes the statistics of each pipeline to standard error
 */
export function findRadv(gpu) {
  const folder = join(PARENT, NAME);
  const reason = unavailable(folder) ?? (isFresh(folder) ? null : fetchRadv());
  if (reason !== null) return { reason };
  const variables = {
    LD_LIBRARY_PATH: [folder, join(PARENT, 'lavapipe')].join(':'),
    VK_DRIVER_FILES: join(folder, 'null-device.json'),
    SVC_RADV: join(folder, 'libvulkan_radeon.so'),
    SVC_VULKAN_DRIVER: 'system',
    RADV_FORCE_FAMILY: gpu,
    RADV_DEBUG: 'shaderstats',
    MESA_SHADER_CACHE_DISABLE: '1',
  };
  return {
    environment: { ...process.env, XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR ?? '/tmp', ...variables },
  };
}

function isFresh(folder) {
  const made = join(folder, 'null-device.c');
  return existsSync(made) && readFileSync(made, 'utf8') === readFileSync(SOURCE, 'utf8');
}

function fetchRadv() {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return `it is fetched for Linux on x64 only, and this is ${process.platform} on ${process.arch}`;
  return fillFolder({ parent: PARENT, name: NAME, title: "Mesa's Vulkan driver for AMD", assemble });
}

function assemble(work, ready) {
  const unpacked = join(work, 'unpacked');
  const packages = downloadPackages(PACKAGES, { closure: false, newMesa: true, work: join(work, 'apt') });
  for (const file of packages) unpack(file, unpacked);
  const files = filesIn(unpacked);
  const find = (test) => {
    const found = files.find((file) => test.test(basename(file)));
    if (!found) throw new NotInArchive(`The packages hold no file that matches ${test.source}.`);
    return found;
  };
  for (const test of LIBRARIES) {
    const file = find(test);
    copyFileSync(file, join(ready, basename(file)));
  }
  const tcc = files.find((file) => file.endsWith('/bin/tcc'));
  const library = join(ready, 'null-device.so');
  const { status, stderr } = spawnSync(tcc, ['-shared', '-nostdlib', '-o', library, SOURCE], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new AptError(`tcc could not compile ${basename(SOURCE)}: ${stderr.trim()}`);
  copyFileSync(SOURCE, join(ready, basename(SOURCE)));
  writeJson(join(ready, 'null-device.json'), {
    file_format_version: '1.0.1',
    ICD: { library_path: './null-device.so', api_version: '1.3.0' },
  });
  return { packages: packages.map((file) => basename(file)) };
}
