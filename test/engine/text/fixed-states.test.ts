// A model with a convolutional state, layers that look back on a window, and a layer that sees all tokens: its tokens are those of the
// computation in f64, whichever copies of the state the prefix cache has, and wherever they come from.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type * as deviceStarter from '../../../src/gpu/node.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { openTextModel, type TextEvent, type TextModel, type TextModelOptions } from '../../../src/index.ts';
import { registerTextArchitecture } from '../../../src/models/text/registry.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { collect, greedy } from '../fixture.ts';
import { SKETCH, sketchCheckpoint, sketchLogits } from './sketch-architecture.ts';

const devices: Device[] = [];
vi.mock('../../../src/gpu/node.ts', async (load) => {
  const original = await load<typeof deviceStarter>();
  return {
    ...original,
    openDevice: async (options: Parameters<typeof original.openDevice>[0]) => {
      const device = await original.openDevice(options);
      devices.push(device);
      return device;
    },
  };
});

const folders = temporaryFolders();
const checkpoint = sketchCheckpoint();
const unregister = registerTextArchitecture(SKETCH);
let model: TextModel;

function open(options: Partial<TextModelOptions> = {}): Promise<TextModel> {
  const usual = { inline: true, safe: true, memoryBudget: 2 ** 29, prefillChunk: 48, maxRunningRequests: 4 };
  return openTextModel({ ...usual, model: checkpoint.path, ...options });
}

beforeAll(async () => void (model = await open()));
afterAll(async () => {
  await model.close();
  unregister();
  checkpoint.remove();
});

function promptOf(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (seed + i * i * 7 + (i >> 3)) % 256);
}

/** Asserts that each token is the one of the highest logit in f64, given those before it. */
function expectBest(prompt: readonly number[], tokens: readonly number[]): void {
  const logits = sketchLogits(checkpoint, [...prompt, ...tokens.slice(0, -1)]).slice(prompt.length - 1);
  expect(tokens).toEqual(logits.map((row) => row.indexOf(Math.max(...row))));
}

interface Run {
  ids: number[][];
  cachedTokens: number;
}

async function run(on: TextModel, ids: readonly number[], tokens: number, n = 1): Promise<Run> {
  let cachedTokens = -1;
  async function* watched(): AsyncGenerator<TextEvent> {
    for await (const event of on.generate({ ...greedy([...ids], tokens), n })) {
      if (event.type === 'prefill') ({ cachedTokens } = event);
      yield event;
    }
  }
  return { ids: (await collect(watched())).ids, cachedTokens };
}

describe('tokens of a model with a fixed state', () => {
  it('are found behind a prompt, behind its reply, and where prompts branch', async () => {
    const prompt = promptOf(140, 3);
    const first = await run(model, prompt, 40);
    expectBest(prompt, first.ids[0]!);
    expect(first.cachedTokens).toBe(0);
    // The copy at the end of the prompt's last full page.
    const again = await run(model, prompt, 40);
    expect(again).toEqual({ ids: first.ids, cachedTokens: 128 });
    // The copy that moved along with the reply.
    const longer = [...prompt, ...first.ids[0]!, 5, 6];
    const onward = await run(model, longer, 10);
    expect(onward.cachedTokens).toBe(160);
    expectBest(longer, onward.ids[0]!);
    // Another branch: the first such prompt finds pages and no copy of the state, the second finds the one that the first has made.
    const branches = [7, 8, 9].map((token) => [...prompt.slice(0, 100), ...promptOf(30, token)]);
    const found: Run[] = [];
    for (const branch of branches) found.push(await run(model, branch, 8));
    expect(found.map(({ cachedTokens }) => cachedTokens)).toEqual([0, 96, 96]);
    found.forEach(({ ids }, i) => expectBest(branches[i]!, ids[0]!));
  });

  it('stay in company, with shared beginnings, and with several choices', async () => {
    const prompts = [
      ...[1, 2].map((seed) => [...promptOf(170, 50), ...promptOf(40, seed)]),
      promptOf(20, 60),
    ];
    const together = await Promise.all(prompts.map((prompt) => run(model, prompt, 12, 3)));
    together.forEach(({ ids }, i) => {
      expect(ids).toEqual([ids[0], ids[0], ids[0]]);
      expectBest(prompts[i]!, ids[0]!);
    });
    expect(together.map(({ cachedTokens }) => cachedTokens)).toEqual([0, 160, 0]);
    expect((await model.metrics()).pages.used).toBe(0);
  });

  it('stay where pages are few, and after aborts', async () => {
    const tight = await open({ maxTotalTokens: 160, maxRunningRequests: 3 });
    const prompts = [promptOf(60, 1), promptOf(66, 2), promptOf(40, 9)];
    const abort = new AbortController();
    const given = collect(tight.generate(greedy(promptOf(70, 8), 60), { signal: abort.signal }));
    const runs = prompts.map((prompt) => run(tight, prompt, 70));
    while ((await tight.metrics()).generatedTokens < 20)
      await new Promise((resolve) => setTimeout(resolve, 5));
    abort.abort();
    await given.catch(() => {});
    const found = await Promise.all(runs);
    expect((await tight.metrics()).retractions).toBeGreaterThan(0);
    found.forEach(({ ids }, i) => expectBest(prompts[i]!, ids[0]!));
    await tight.close();
  });

  it('stay after the device is lost', async () => {
    const prompts = [promptOf(100, 21), promptOf(50, 22)];
    const own = await open();
    const streams = prompts.map((prompt) => run(own, prompt, 60));
    while ((await own.metrics()).generatedTokens < 50) await new Promise((resolve) => setTimeout(resolve, 5));
    devices.at(-1)!.destroy();
    (await Promise.all(streams)).forEach(({ ids }, i) => expectBest(prompts[i]!, ids[0]!));
    expect((await own.metrics()).deviceRestarts).toBe(1);
    expect((await run(own, [...prompts[0]!, 1], 8)).cachedTokens).toBe(96);
    await own.close();
  });

  it('stay when pages and states come back from host memory', async () => {
    const hosted = await open({ maxTotalTokens: 320, hostCache: 2 ** 24 });
    const prompt = promptOf(150, 31);
    const { ids } = await run(hosted, prompt, 12);
    expectBest(prompt, ids[0]!);
    for (const seed of [41, 42, 43]) await run(hosted, promptOf(200, seed), 5);
    expect(await run(hosted, prompt, 12)).toEqual({ ids, cachedTokens: 128 });
    expect((await hosted.metrics()).cache.host).toBeGreaterThan(0);
    await hosted.close();
  });

  it('stay when pages and states come back from files', async () => {
    const storageCache = await folders({});
    const first = await open({ storageCache });
    const prompt = promptOf(150, 31);
    const { ids } = await run(first, prompt, 12);
    await first.close();
    const second = await open({ storageCache });
    expect(await run(second, prompt, 12)).toEqual({ ids, cachedTokens: 128 });
    const longer = [...prompt, ...ids[0]!, 3];
    const { cache } = await second.metrics();
    expect([cache.storage, cache.fetched]).toEqual([128, 128]);
    expectBest(longer, (await run(second, longer, 6)).ids[0]!);
    await second.close();
  });
});
