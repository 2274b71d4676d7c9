// The engine with the kernels of GPUs, which differ between prompts and the tokens after them: a request's tokens depend neither on the requests
// beside it, nor on how its prompt was divided into steps, nor on whether it was retracted and computed again.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { disguise } from '../../gpu/test-device.ts';
import { collect, goldenCases, greedy, openGolden, type GoldenName } from '../fixture.ts';

/** The one that was opened last. */
let device: Device;
const platform = {
  ...nodePlatform,
  async openDevice(options: Parameters<typeof nodePlatform.openDevice>[0]): Promise<Device> {
    device = disguise(await nodePlatform.openDevice(options), {
      ...{ profile: 'discrete', matvecRows: 2, sharedTiles: 1, sharedRows: 16, promptSums: 4 }, // compile in half the time
      deterministic: options.deterministic,
    });
    return device;
  },
};

const opened: TextModel[] = [];
async function open(
  options: Parameters<typeof openGolden>[1] = {},
  name: GoldenName = 'qwen3',
): Promise<TextModel> {
  const model = await openGolden(name, options, platform);
  opened.push(model);
  return model;
}
afterAll(async () => {
  for (const model of opened) await model.close();
});

function prompt(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (i * i * 31 + i * 7 + seed * 13) % 250);
}

const REQUESTS = Array.from({ length: 20 }, (_, i) =>
  greedy(prompt(3 + ((i * 17) % 90), i), (i % 2 === 0 ? 28 : 6) + ((i * 7) % 8)),
);
let single: (readonly number[] | undefined)[];
let model: TextModel;
beforeAll(async () => {
  model = await open({ maxRunningRequests: 32 });
  single = [];
  for (const request of REQUESTS) single.push((await collect(model.generate(request))).ids[0]);
}, 240_000);

test.each(['qwen3', 'qwen3-moe', 'qwen3-next', 'granite-hybrid'] as const)(
  'the tokens of %s with phases apart are those of transformers',
  async (name) => {
    const { config, greedy: golden } = goldenCases(name).find(
      ({ greedy: tokens, weights, rope }) => tokens && weights === 'stored' && rope.rule !== 'static',
    )!;
    const own = await open({ config }, name);
    const { ids } = await collect(own.generate(greedy(golden!.prompt_ids, 32)));
    expect(ids[0]).toEqual(golden!.tokens);
  },
);

test('twenty requests together equal each alone, in steps of one phase', async () => {
  const together = await Promise.all(
    REQUESTS.map(async (request) => (await collect(model.generate(request))).ids[0]),
  );
  expect(together).toEqual(single);
});

test('phases apart change no token of prompts in small chunks, on few pages, with retracted requests', async () => {
  const small = await open({ prefillChunk: 16, maxTotalTokens: 192, maxRunningRequests: 8 });
  const together = await Promise.all(
    REQUESTS.map(async (request) => (await collect(small.generate(request))).ids[0]),
  );
  expect(together).toEqual(single);
  expect((await small.metrics()).retractions).toBeGreaterThan(0);
});

test('a deterministic prompt computed at once gives the same as its tokens one by one', async () => {
  const own = await open({ deterministic: true, prefixCache: false });
  const scored = async (by: TextModel, ids: number[], count: number): Promise<[number, number][]> => {
    const found: [number, number][] = [];
    for await (const event of by.generate({ ...greedy(ids, count), logprobs: 1 }))
      if (event.type === 'delta')
        found.push(...event.logprobs!.map(({ logprob }, i) => [event.ids[i]!, logprob] as [number, number]));
    return found;
  };
  const all = await scored(own, prompt(9, 3), 30);
  const known = [...prompt(9, 3), ...all.slice(0, 20).map(([id]) => id)];
  expect(await scored(own, known, 10)).toEqual(all.slice(20));
  // Without it both have kernels of their own, whose sums differ in their last bits.
  const apart = await open({ prefixCache: false });
  const usual = (await scored(apart, prompt(9, 3), 30)).slice(20);
  expect(usual).not.toEqual(all.slice(20));
  expect(await scored(apart, known, 10)).not.toEqual(usual);
});

test('prompts whose rows see keys expanded from latents: together, in chunks, cached, retracted, and on a device that is lost', async () => {
  const requests = [0, 1, 2, 3].map((i) => greedy([...prompt(70, 1), ...prompt(1 + 9 * i, i)], 8));
  const idsOf = (by: TextModel) =>
    Promise.all(requests.map(async (request) => (await collect(by.generate(request))).ids[0]));
  // On software adapters rows see the latents.
  const absorbed = await openGolden('deepseek-v3', { prefixCache: false });
  opened.push(absorbed);
  const alone = await idsOf(absorbed);
  const few = await open({ maxTotalTokens: 160, prefillChunk: 32 }, 'deepseek-v3');
  expect(await idsOf(few)).toEqual(alone);
  expect(await idsOf(few)).toEqual(alone);
  const { cache, retractions } = await few.metrics();
  expect(retractions + cache.evicted).toBeGreaterThan(0);
  expect(cache.hitRate).toBeGreaterThan(0);

  const ids: number[] = [];
  const lost = device;
  for await (const event of few.generate({ ...requests[3]!, cacheSalt: 'lost' })) {
    if (event.type === 'prefill') lost.destroy();
    if (event.type === 'delta') ids.push(...event.ids);
  }
  expect(ids).toEqual(alone[3]);
  expect(await few.metrics()).toMatchObject({ deviceRestarts: 1 });
});
