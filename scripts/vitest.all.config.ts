// The tests of the whole `npm test`: all of them on the adapter that a program gets, and those of kernels and of the language models' goldens
// once more on the second software adapter: four lanes, no f16, another compiler. The files of both runs share the workers.

import { defineConfig } from 'vitest/config';
import parts from './vitest.config.ts';

const { include, ...common } = parts.test ?? {};

export default defineConfig({
  ...parts,
  test: {
    ...common,
    projects: [
      { extends: true, test: { name: 'first adapter', include: include ?? [] } },
      {
        extends: true,
        test: {
          name: 'swiftshader',
          include: ['test/kernels/**/*.test.ts', 'test/models/text/llama.test.ts'],
          env: { SVC_VULKAN_DRIVER: 'swiftshader' },
        },
      },
    ],
  },
});
