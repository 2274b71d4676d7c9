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
  matmul: /the adapter as it is (f16|int4|swiglu, bias true)/,
  matvec: /^(int4|q6_k|mxfp4): sums/,
  'stored-formats': /^(q4_k|iq4_xs) values are those/,
  quantise: /bf16 int/,
  experts: /the adapter as it is' int8/,
  lora: /the adapter as it is: (three parts|beside int8)/,
  // A format that an application declares, whose shaders come from an address of the page.
  'made-up-format': /: (few rows|whole tiles on a GPU)/,
  // Attention of images, and of pages of keys and values (kv/); rotated rows are written there.
  attend: /the adapter as it is' (heads of (40|160)|causal, 16|keys of each)/,
  'attend-choice': /^plain computes|8 bits heads of 40$|a window of frames/,
  attention:
    /^2 queries a key, 128 dims|pages of codes .* 12 dims|without subgroups 64|sinks true, window null/,
  'rope-kv': /plain heads (3 \+ 2 · 3 heads of 20|6 \+ 2 · 2 heads of 16)|^cpu: /,
  // Convolutions, direct and by Winograd, and the norm in front.
  conv2d: /the adapter as it is (f32|int4|stride 2, padding same|upsampled: true)/,
  winograd: /by Winograd (\{"height":(4,"width":3|7,"width":6)|a batch)/,
  // Recurrent states.
  'gated-delta': /profile cpu (steps|prompts.* dims: 8)/,
  // Sums over a row, an image and an item.
  rmsnorm: /^(31|1027) columns|the ends of f32/,
  groupnorm: /"channels":(37|96|130)|a batch/,
  // Tables of embeddings, choices of tokens, pixels of eight bits.
  'embed-tokens': null,
  sample: /greedy takes the (largest of (65|331)|lowest)|^a draw|temperature near|biases are/,
  threshold: /\[1, 7, 11, 3\] (the quantile 0\.5|at most)|clamps|equal/,
  'to-pixels': /of NaN|2 × 5 × 33|every byte/,
};

/** Of a file whose tests all run. */
const ON_THE_DEVICE = new RegExp(`^(?!.*(${CUTS.source}))`);

const folder = fileURLToPath(new URL('../kernels', import.meta.url));
const names = Object.keys(KERNELS);
const pathOf = (name: string): string => `test/kernels/${name}.test.ts`;

const pages = usePages({
  scripts: { run: TEST_RUNNER },
  plugins: [testFiles(names.map(pathOf))],
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
