// Bundles test files for a page: what they import from Node and from vitest is replaced by modules of this folder, and the device
// starter by that of pages.

import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';

const inRoot = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

const REPLACED: readonly [RegExp, string][] = [
  [/^vitest$/, 'test/browser/in-page/vitest.ts'],
  [/^node:fs$/, 'test/browser/in-page/fs.ts'],
  [/^node:events$/, 'test/browser/in-page/events.ts'],
  [/\/gpu\/node\.ts$/, 'src/gpu/browser.ts'],
  [/\/gpu\/free-memory\.ts$/, 'test/browser/in-page/free-memory.ts'],
];

/** The script that runs them: usePages({ scripts: { run: TEST_RUNNER }, plugins: [testFiles(paths)] }). */
export const TEST_RUNNER = 'test/browser/in-page/run.ts';

/** Puts these test files into the bundle, named by their paths from the project's root. */
export function testFiles(paths: readonly string[]): Plugin {
  const entries = paths.map(
    (path) => `${JSON.stringify(path)}: () => import(${JSON.stringify(`./${path}`)})`,
  );
  return {
    name: 'test-files',
    setup(build) {
      // A page has SwiftShader only: the tests choose what they expect by this setting.
      const environment = { 'process.env': '{"SVC_VULKAN_DRIVER":"swiftshader"}' };
      build.initialOptions.define = { ...build.initialOptions.define, ...environment };
      for (const [filter, path] of REPLACED) build.onResolve({ filter }, () => ({ path: inRoot(path) }));
      build.onResolve({ filter: /^virtual:test-files$/ }, ({ path }) => ({ path, namespace: 'test-files' }));
      build.onLoad({ filter: /./, namespace: 'test-files' }, () => ({
        contents: `export const TEST_FILES = { ${entries.join(', ')} };`,
        resolveDir: inRoot('.'),
      }));
    },
  };
}
