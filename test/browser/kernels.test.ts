// Tests of kernels in a page, on its own device: of each seam of the shaders and of each kind of arithmetic one kernel, without the cuts that the
// host makes. What a page has of its own is the browser's compiler and how its files get there; all other kernels and variants run in Node, on
// SwiftShader or on the first driver.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { CUTS } from '../second-driver.mjs';
import { usePages } from './chromium.ts';
import { testFiles, TEST_RUNNER } from './in-page/plugin.ts';

/** Names of the tests that run of a file; null: all but the host's cuts. */
const KERNELS: Readonly<Record<string, RegExp | null>> = {
  // Products of many rows, few and one, in weights that are floats, integers and stored blocks (weights/, codes/, sources/).
  gemm: /^int4 (?!windows)/,
  matmul: /the adapter as it is (f16|int4|add, bias true|swiglu, bias true)/,
  matvec: /^(int4|q6_k|mxfp4): sums|67 × 33/,
  'stored-formats': /^(q4_k|iq4_xs) values are those/,
  quantise: null,
  experts: /the adapter as it is' int8|a plan/,
  lora: /the adapter as it is/,
  // A format that an application declares, whose shaders come from an address of the page.
  'made-up-format': null,
  // Attention of images, and of pages of keys and values (kv/); rotated rows are written there.
  attend: /the adapter as it is' (heads of (8|40|160)|causal|33 keys|keys of each|scores)/,
  'attend-choice': /^(plain|flash) computes|heads of 40$|a window of frames/,
  attention:
    /2 queries a key, \d+ dims, \d key heads|without subgroups 64|sinks true, window null|1 queries a key, 64/,
  'rope-kv': /^(?!.*(subgroups|256 KiB|normed heads))/,
  // Convolutions, direct and by Winograd, and the norm in front.
  conv2d: /the adapter as it is (f32|int4|upsampled|stride)/,
  winograd: /by Winograd (?!.*(discrete|portable))/,
  // Recurrent states.
  'gated-delta': /profile cpu (steps|a batch|prompts.* dims: 8)/,
  // Sums over a row, an image and an item.
  rmsnorm: null,
  groupnorm: null,
  // Tables of embeddings, choices of tokens, pixels of eight bits.
  'embed-tokens': null,
  sample: /greedy|^a draw|temperature [1n]|biases are/,
  threshold: /quantile 0\.5|at most|clamps|equal/,
  'to-pixels': null,
};

/** Of a file whose tests all run. */
const ON_THE_DEVICE = new RegExp(`^(?!.*(${CUTS.source}))`);

const folder = fileURLToPath(new URL('../kernels', import.meta.url));
const names = Object.keys(KERNELS);
const pathOf = (name: string): string => `test/kernels/${name}.test.ts`;

const pages = usePages({
  scripts: { run: TEST_RUNNER },
  plugins: [testFiles(names.map(pathOf))],
  largeTiles: true,
});
pages.route('/engine/made-up/', ({ url }, response) => {
  response.end(readFileSync(`${folder}/made-up/${url!.split('/').at(-1)}`));
});

let page: Page;
beforeAll(async () => void (page = await pages.open()));

pages.test.each(names)('%s', async (name) => {
  const { passed, failed } = await page.evaluate(([path, part]) => runTestFile(path, part), [
    pathOf(name),
    (KERNELS[name] ?? ON_THE_DEVICE).source,
  ] as const);
  expect(failed).toEqual([]);
  expect(passed).toBeGreaterThan(0);
});
