// Prompts whose rows see keys and values that are expanded from latents, with the kernels of GPUs: a request's tokens depend neither on the requests beside it nor
// on chunks, on what was cached, and on whether it was retracted.

import { expect, it } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { disguise } from '../../gpu/test-device.ts';
import { collect, greedy, openGolden } from '../fixture.ts';

const platform = {
  ...nodePlatform,
  openDevice: async (options: Parameters<typeof nodePlatform.openDevice>[0]) =>
    disguise(await nodePlatform.openDevice(options), {
      ...{ profile: 'discrete', matvecRows: 2, sharedRows: 16, promptSums: 4 },
      deterministic: options.deterministic,
    }),
};

function prompt(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (i * i * 31 + i * 7 + seed * 13) % 250);
}

const SHARED = prompt(70, 1);
const REQUESTS = [0, 1, 2, 3].map((i) => greedy([...SHARED, ...prompt(1 + 9 * i, i)], 8));

const idsOf = async (model: TextModel, request: (typeof REQUESTS)[number]): Promise<number[]> =>
  (await collect(model.generate(request))).ids[0]!;

it('a request has the same tokens alone, together, in chunks, cached and retracted', async () => {
  const alone: number[][] = [];
  {
    // On software adapters prompts see latents.
    await using model = await openGolden('deepseek-v3', { prefixCache: false });
    for (const request of REQUESTS) alone.push(await idsOf(model, request));
  }
  await using few = await openGolden('deepseek-v3', { maxTotalTokens: 160, prefillChunk: 32 }, platform);
  const together = () => Promise.all(REQUESTS.map((request) => idsOf(few, request)));
  expect(await together()).toEqual(alone);
  expect(await together()).toEqual(alone);
  const { cache, retractions } = await few.metrics();
  expect(retractions + cache.evicted).toBeGreaterThan(0);
  expect(cache.hitRate).toBeGreaterThan(0);
}, 240_000);
