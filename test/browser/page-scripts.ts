// Bundles the scripts of pages that tests open. The engine is the one that programs get, dist/browser/: a script loads it from the address beside its own.

import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { root } from '../../scripts/setup/packages.mjs';

/** Folder of the built engine. vitest builds it before the first test where a source is newer. */
export const BUILT_ENGINE = join(root, 'dist/browser');

const FROM_THE_SERVER: Plugin = {
  name: 'engine-from-the-server',
  setup({ onResolve }) {
    onResolve({ filter: /[/]src[/]browser\.ts$/ }, () => ({ path: './index.js', external: true }));
  },
};

/** `scripts`: paths from the project's root by the names of the modules in `outdir`. */
export async function bundleScripts(
  outdir: string,
  scripts: Readonly<Record<string, string>>,
): Promise<void> {
  await build({
    entryPoints: Object.entries(scripts).map(([out, path]) => ({ in: join(root, path), out })),
    outdir,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    logLevel: 'silent',
    plugins: [FROM_THE_SERVER],
  });
}
