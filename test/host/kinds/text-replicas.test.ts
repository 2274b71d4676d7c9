// Two replicas of a language model share its requests, as one model.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Device } from '../../../src/gpu/device.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline, openSleeping } from '../../../src/host/open.ts';
import type { TextEvent, TextModel, TextModelOptions, TextRequest } from '../../../src/index.ts';
import { goldenModel, greedy } from '../../engine/fixture.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const folder = goldenModel('llama');
const devices: Device[] = [];
let mayReopen = true;
let model: TextModel;

beforeAll(async () => void (model = await openWith({ dpSize: 2, logicalRanks: true })));
afterAll(async () => {
  await model?.close();
  folder.remove();
});

async function openWith(given: Partial<TextModelOptions>): Promise<TextModel> {
  const platform = {
    ...nodePlatform,
    async openDevice(options: Parameters<typeof nodePlatform.openDevice>[0]) {
      const { rank } = options.place!;
      if (devices.length === 2 && !mayReopen) throw new Error('the driver is gone');
      return (devices[rank] = await nodePlatform.openDevice(options));
    },
  };
  const options = {
    model: folder.path,
    memoryBudget: 2 ** 28,
    maxRunningRequests: 2,
    prefillChunk: 16,
    ...given,
  };
  TEXT.check(options);
  return openSleeping(TEXT, options, undefined, undefined, (one, giveUp) =>
    openInline(TEXT, platform, one, undefined, giveUp),
  );
}

async function run(request: TextRequest) {
  const ids: number[] = [];
  let replica: number | undefined;
  let cached = 0;
  for await (const event of model.generate(request)) {
    if (event.type === 'accepted') replica = event.replica;
    if (event.type === 'prefill') cached = event.cachedTokens;
    if (event.type === 'delta') ids.push(...event.ids);
  }
  return { ids, replica, cached };
}

const prompt = (seed: number, length = 70) =>
  Array.from({ length }, (_, i) => (i * i * 31 + seed * 17) % 250);

it('a conversation stays where its beginning is cached, and others go elsewhere', async () => {
  const one = await run(greedy(prompt(1), 4));
  const two = await run(greedy(prompt(2), 4));
  expect([one.replica, two.replica]).toEqual([0, 1]);
  const later = await run(greedy([...prompt(2), ...two.ids, 5, 6, 7], 4));
  expect(later.replica).toBe(1);
  expect(later.cached).toBeGreaterThanOrEqual(64);
  expect((await run(greedy(prompt(1), 4))).ids).toEqual(one.ids);
  const { replicas, ...sum } = await model.metrics();
  expect(replicas).toMatchObject([
    {
      running: 0,
      waiting: 0,
      generatedTokens: 8,
      adapter: expect.stringMatching(/llvmpipe|SwiftShader/) as unknown,
    },
    { running: 0, waiting: 0, generatedTokens: 8 },
  ]);
  expect(sum).toMatchObject({ generatedTokens: 16, pages: { tokensPerPage: 32 }, adapters: { most: 8 } });
  expect(sum.pages.total).toBe(2 * replicas![0]!.pages.total);
  expect(model.info).toMatchObject({ replicas: 2, maxRunningRequests: 4 });
  expect(TEXT.summary(model.info)[1]).toMatch(/scratch; on 2 replicas, the first of them on /);
});

it('a replica with clearly more to do gives requests of its conversations to the other one, with the same tokens', async () => {
  const all = await Promise.all(Array.from({ length: 4 }, () => run(greedy(prompt(1), 24))));
  expect(all.filter(({ replica }) => replica === 0)).toHaveLength(2);
  expect(new Set(all.map(({ ids }) => ids.join())).size).toBe(1);
});

it('calls reach the replicas that they concern', async () => {
  const texts = [prompt(1), prompt(2)].map((ids, i) => ({ ...greedy(ids, 400), id: `long-${i}` }));
  const ends: TextEvent[] = [];
  let started = 0;
  const follow = async (request: TextRequest): Promise<void> => {
    for await (const event of model.generate(request)) {
      if (event.type === 'done') ends.push(event);
      if (event.type !== 'accepted') continue;
      if (++started < 2) continue;
      expect(await model.flushCache()).toBe(false);
      expect(await model.abort('long-')).toBe(2);
    }
  };
  await Promise.all(texts.map(follow));
  expect(ends).toMatchObject([{ finishReason: 'abort' }, { finishReason: 'abort' }]);
  expect(await model.flushCache()).toBe(true);
  expect((await model.metrics()).replicas!.map(({ pages }) => pages.cached)).toEqual([0, 0]);
});

it('a device that is lost for good ends the requests of its replica alone, and later ones go to the other replica', async () => {
  const { ids } = await run(greedy(prompt(1), 40));
  mayReopen = false;
  const outcomes = [prompt(1), prompt(2)].map(async (of) => {
    for await (const event of model.generate(greedy(of, 40)))
      if (event.type === 'delta' && of[0] === prompt(2)[0] && !devices[1]!.isLost)
        devices[1]!.destroy('gone');
    return 'done';
  });
  const [one, two] = await Promise.allSettled(outcomes);
  expect(one).toMatchObject({ status: 'fulfilled' });
  expect(two).toMatchObject({ status: 'rejected', reason: { code: 'device_lost' } });
  const next = await Promise.all([run(greedy(prompt(1), 40)), run(greedy(prompt(2), 4))]);
  expect(next.map(({ replica }) => replica)).toEqual([0, 0]);
  expect(next[0].ids).toEqual(ids);
});

it('numbers of GPUs and replicas that differ are refused, and so are more than there are adapters', async () => {
  await expect(openWith({ numGpus: 4, dpSize: 2 })).rejects.toThrow(
    /`numGpus` 4 is not `dpSize` 2 times 1, .*: give the product/,
  );
  mayReopen = true;
  await expect(openWith({ numGpus: 2 })).rejects.toMatchObject({ code: 'no_adapter', param: 'numGpus' });
});
