// The tests of kernels in a page, on its own device: every file of test/kernels/ that runs shaders, without the cuts that the host makes, and those
// that take long on SwiftShader in part. The variants that they leave out there run in Node, on SwiftShader or on the first driver.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { CUTS } from '../second-driver.mjs';
import { usePages } from './chromium.ts';
import { testFiles, TEST_RUNNER } from './in-page/plugin.ts';

/** Names of the tests that run of a file; null: none, because it compiles variants for other adapters. */
const IN_PART: Readonly<Record<string, RegExp | null>> = {
  attend: /the adapter as it is' (heads of (8|40|160)|causal|\d+ keys|keys of each|scores)/,
  'attend-choice': /^(plain|flash) computes|heads of 40$|a window of frames/,
  'attend-matrix': null,
  'attend-shared': null,
  'attention-phases': /^2 queries a key/,
  'attention-prompt-matrix': null,
  'attention-variants': null,
  attention:
    /2 queries a key, \d+ dims, \d key heads|without subgroups 64|sinks true, window null|1 queries a key, 64/,
  'conv2d-matrix': null,
  conv2d: /the adapter as it is (f32|int4|upsampled|stride|images|\{"residual)/,
  'dispatch-work': null,
  experts: /the adapter as it is' int8|a plan/,
  'gated-delta': /profile cpu (steps|a batch|prompts.* dims: 8)/,
  families: null,
  gemm: /^int4 (?!windows)/,
  'gemm-int8': null,
  'gemm-matrix': null,
  logprobs: /^(?!.*many workgroups)/,
  lora: /the adapter as it is/,
  matmul: /the adapter as it is (f|int|bf16|add, bias true|swiglu, bias true)/,
  'matrix-unit': null,
  matvec: /^(f16|int4|q6_k|mxfp4): sums|67 × 33/,
  'matvec-int8': null,
  'norm-conv': /^\{(?!.*winograd)/,
  normed: /^int4, 67/,
  profiles: null,
  'rope-kv': /^(?!.*(subgroups|256 KiB|normed heads))/,
  sample: /greedy|^a draw|temperature [1n]|biases are/,
  'sample-parts': null,
  'sample-edits': /masks|all three change/,
  'stored-formats': /values are those/,
  threshold: /quantile 0\.5|at most|clamps|equal/,
  tiling: /matmul, \{"rows/,
  winograd: /by Winograd (?!.*(discrete|portable))/,
};

/** Of a file that is not named there. */
const ON_THE_DEVICE = new RegExp(`^(?!.*(${CUTS.source}))`);

const folder = fileURLToPath(new URL('../kernels', import.meta.url));
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => file.slice(0, -'.test.ts'.length))
  .filter((name) => IN_PART[name] !== null);
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
    (IN_PART[name] ?? ON_THE_DEVICE).source,
  ] as const);
  expect(failed).toEqual([]);
  expect(passed).toBeGreaterThan(0);
});
