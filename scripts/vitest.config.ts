// Test files run three beside each other, each in a process of its own: a crash of the driver ends one file. On two cores the third fills the time in
// which others wait for a browser, a server or a timer, a sixth of the whole.

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const MOST_WORKERS = 3;

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  // Examples name the package as programs do.
  resolve: {
    alias: [
      { find: /^svc-engine$/, replacement: fileURLToPath(new URL('../src/index.ts', import.meta.url)) },
      {
        find: /^svc-engine\/ai$/,
        replacement: fileURLToPath(new URL('../src/chat/ai/provider.ts', import.meta.url)),
      },
    ],
  },
  test: {
    include: ['test/**/*.test.{ts,mjs}'],
    globalSetup: ['scripts/setup/build.mjs', 'scripts/setup/goldens.mjs', 'test/scratch.mjs'],
    setupFiles: ['test/setup.ts'],
    // Modules are transformed once for all projects of a run, and for later runs.
    experimental: { fsModuleCache: true },
    pool: 'forks',
    maxWorkers: Math.min(availableParallelism() + 1, MOST_WORKERS),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A page that shares its core with other tests takes seconds for what takes it milliseconds alone.
    expect: { poll: { timeout: 20_000 } },
  },
});
