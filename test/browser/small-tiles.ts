// Bundles the engine with the small tiles that test/gpu/kept-device.ts gives to models in Node: SwiftShader compiles kernels with few sums in half
// the time, and a page compiles them each time that it opens a model. Files that compare kernels or shipped models keep the tiles of programs.

import { readFileSync } from 'node:fs';
import type { Plugin } from 'esbuild';

const REPLACED: readonly [RegExp, string][] = [
  [/tileRows: \{ usual: 24, winograd: 32 \}/, 'tileRows: { usual: 8, winograd: 8 }'],
  [/tiles: \[\s*\{ dims: 80, tiles: 3 \},\s*\{ dims: 160, tiles: 2 \},/, 'tiles: ['],
];

export const SMALL_TILES: Plugin = {
  name: 'small-tiles',
  setup({ onLoad }) {
    onLoad({ filter: /gpu[/\\]adapter-profile\.ts$/ }, ({ path }) => ({
      contents: REPLACED.reduce(
        (text, [own, small]) => {
          if (!own.test(text)) throw new Error(`${path} has no ${own.source}`);
          return text.replace(own, small);
        },
        readFileSync(path, 'utf8'),
      ),
      loader: 'ts',
    }));
  },
};
