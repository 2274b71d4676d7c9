// The tests of the whole `npm test`: all of them on the adapter that a program gets, and those of kernels and of the language models' goldens
// once more on the second software adapter: four lanes, no f16, another compiler. Pages are tested in Chromium. The files of all projects
// share the workers.

import { defineConfig } from 'vitest/config';
import parts from './vitest.config.ts';

const { include, ...common } = parts.test ?? {};

/**
 * Files that open no device and start no process with one. Like those of COMPUTING they share a process for each worker, which saves a second of imports
 * and set-up a file; other files have a process of their own, because they replace modules, end threads or count what is left behind.
 */
const WITHOUT_DEVICE = [
  'test/{files,grammar,options,engine/image/schedules}/**/*.test.ts',
  'test/server/!(images)/**/*.test.ts',
  'test/engine/text/output/!(shipped).test.ts',
];

/** Kernels and models on a device, without sessions around them. */
const COMPUTING = ['test/kernels/**/*.test.ts', 'test/models/**/*.test.ts'];

/** Files that drive a browser; scripts/test.mjs leaves them out where there is none. */
const IN_CHROMIUM = 'test/browser/**/*.test.ts';

export default defineConfig({
  ...parts,
  test: {
    ...common,
    projects: [
      {
        extends: true,
        test: {
          name: 'first adapter',
          include: include ?? [],
          exclude: [...WITHOUT_DEVICE, ...COMPUTING, IN_CHROMIUM],
        },
      },
      {
        extends: true,
        test: { name: 'kernels and models', include: COMPUTING, isolate: false },
      },
      {
        extends: true,
        test: { name: 'chromium', include: [IN_CHROMIUM] },
      },
      {
        extends: true,
        test: { name: 'no adapter', include: WITHOUT_DEVICE, isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'swiftshader',
          include: ['test/kernels/**/*.test.ts', 'test/models/text/decoder.test.ts'],
          isolate: false,
          env: { SVC_VULKAN_DRIVER: 'swiftshader' },
        },
      },
    ],
  },
});
