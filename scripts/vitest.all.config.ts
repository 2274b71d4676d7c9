// The tests of the whole `npm test`: those of kernels and models on two software adapters, of which the second has four lanes, no f16 and another
// compiler (test/second-driver.mjs), all others on the adapter that a program gets. Pages are tested in Chromium and in
// Firefox. The files of all projects share the workers. Most files also share a process with others for each worker, which saves a second of
// imports and set-up a file, and a fifth of the CPU time of files that open devices; test/hooks.ts says what modules that they share must heed.
// test/left-out.mjs names the tests that only the whole run has.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { root } from './setup/packages.mjs';
import { NEEDS_F16, SECOND_DRIVER_FILES } from '../test/second-driver.mjs';
import parts from './vitest.config.ts';

const { include, ...common } = parts.test ?? {};

/** Files that open no device and start no process with one, without those that replace modules, which need a process of their own. */
const WITHOUT_DEVICE = [
  ...filesIn('test/files').filter((path) => !replacesParts(path)),
  'test/{grammar,options,engine/image/schedules}/**/*.test.ts',
  'test/server/!(images|videos)/**/*.test.ts',
  'test/engine/text/output/!(shipped).test.ts',
];

/** Kernels and models on a device, without sessions around them. */
const COMPUTING = ['test/kernels/**/*.test.ts', 'test/models/**/*.test.ts'];

/** Sessions of models and servers around them, without the files that need a process of their own: those that replace modules, timers or the driver, which a process loads once. */
const ENGINE = ['test/engine', 'test/server'].flatMap((folder) =>
  filesIn(folder).filter((path) => !replacesParts(path)),
);

/** The command, conversations, devices and scripts, without the files that need a process of their own. */
const PROGRAMS = ['test/cli', 'test/chat', 'test/gpu', 'test/scripts'].flatMap((folder) =>
  filesIn(folder).filter((path) => !replacesParts(path)),
);

/** Hosts of the engine, without the files that need a process of their own. They open devices of their own: models of PROGRAMS have kept ones. */
const HOSTS = filesIn('test/host').filter((path) => !replacesParts(path));

function filesIn(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /\.test\.(ts|mjs)$/.test(name))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`);
}

function replacesParts(path: string): boolean {
  const text = readFileSync(join(root, path), 'utf8');
  return /vi\.(mock|doMock|useFakeTimers)\(|stubEnv\('SVC_VULKAN_DRIVER'/.test(text);
}

/** llvmpipe then computes in the thread that submits: the workers already occupy the cores, and handing small dispatches over costs more. */
const IN_ONE_THREAD = { LP_NUM_THREADS: '0' };

/** Files that drive a browser; scripts/test.mjs leaves them out where there is none. */
const IN_CHROMIUM = 'test/{browser/!(firefox),web/*}.test.ts';
const IN_CHROMIUM_ALONE = ['test/browser', 'test/web'].flatMap((folder) =>
  filesIn(folder).filter((path) => replacesParts(path)),
);
const IN_FIREFOX = 'test/browser/firefox.test.ts';

export default defineConfig({
  ...parts,
  test: {
    ...common,
    runner: './test/part-runner.ts',
    projects: [
      {
        extends: true,
        test: {
          name: 'first adapter',
          include: include ?? [],
          exclude: [
            ...WITHOUT_DEVICE,
            ...COMPUTING,
            ...ENGINE,
            ...PROGRAMS,
            ...HOSTS,
            IN_CHROMIUM,
            IN_FIREFOX,
          ],
        },
      },
      {
        extends: true,
        test: {
          name: 'kernels and models',
          include: COMPUTING,
          isolate: false,
          env: IN_ONE_THREAD,
        },
      },
      {
        extends: true,
        test: {
          name: 'engine and server',
          include: ENGINE,
          exclude: WITHOUT_DEVICE,
          isolate: false,
          env: IN_ONE_THREAD,
        },
      },
      {
        extends: true,
        test: { name: 'programs', include: PROGRAMS, isolate: false },
      },
      {
        extends: true,
        test: { name: 'hosts', include: HOSTS, isolate: false },
      },
      {
        extends: true,
        test: { name: 'chromium', include: [IN_CHROMIUM], exclude: IN_CHROMIUM_ALONE, isolate: false },
      },
      {
        extends: true,
        test: { name: 'chromium, files alone', include: IN_CHROMIUM_ALONE },
      },
      {
        extends: true,
        test: { name: 'firefox', include: [IN_FIREFOX] },
      },
      {
        extends: true,
        test: { name: 'no adapter', include: WITHOUT_DEVICE, isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'swiftshader',
          include: SECOND_DRIVER_FILES,
          exclude: NEEDS_F16,
          isolate: false,
          env: { SVC_VULKAN_DRIVER: 'swiftshader' },
        },
      },
    ],
  },
});
