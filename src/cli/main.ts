#!/usr/bin/env node
// svc: the commands there are.

import { run } from './run.ts';

await run(process.argv.slice(2), {
  pull: {
    summary: 'Download a model from the hub.',
    load: async () => (await import('./pull.ts')).pull,
  },
  list: {
    summary: 'List the models on this machine.',
    load: async () => (await import('./list.ts')).list,
  },
  rm: {
    summary: 'Remove a downloaded model.',
    load: async () => (await import('./rm.ts')).rm,
  },
  version: {
    summary: 'Print the version.',
    load: async () => (await import('./version.ts')).version,
  },
});
