// A model in which one layer of four sees all tokens and three look back on a window: the windowed layers release pages while a
// sequence runs, and its tokens are those of the computation in f64, whatever else happens to the pages.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Scheduler } from '../../../src/engine/text/run/scheduler.ts';
import type * as deviceStarter from '../../../src/gpu/node.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { openTextModel, type TextModel, type TextModelOptions } from '../../../src/index.ts';
import { registerTextArchitecture } from '../../../src/models/text/registry.ts';
import { collect, greedy } from '../fixture.ts';
import { paperSequence } from './paper-sequence.ts';
import { NEAR_FAR, NEAR_FAR_PARTS, sketchCheckpoint, sketchLogits } from './sketch-architecture.ts';

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

const checkpoint = sketchCheckpoint(NEAR_FAR_PARTS);
const unregister = registerTextArchitecture(NEAR_FAR);
let model: TextModel;

function open(options: Partial<TextModelOptions> = {}): Promise<TextModel> {
  const usual = { inline: true, safe: true, memoryBudget: 2 ** 29, prefillChunk: 16, maxRunningRequests: 4 };
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
  const best = logits.map((row) => row.indexOf(Math.max(...row)));
  expect(tokens).toEqual(best);
}

async function run(on: TextModel, ids: readonly number[], tokens: number, n = 1): Promise<number[][]> {
  return (await collect(on.generate({ ...greedy([...ids], tokens), n }))).ids;
}

describe('tokens of a model with mixed windows', () => {
  it('are those of the computation in f64: alone, together, from the prefix cache, and with several choices', async () => {
    const prompts = [promptOf(300, 3), promptOf(45, 11), promptOf(130, 7)];
    const together = await Promise.all(prompts.map((prompt) => run(model, prompt, 40)));
    together.forEach(([ids], i) => expectBest(prompts[i]!, ids!));
    const before = (await model.metrics()).cache.device;
    for (const [i, prompt] of prompts.entries())
      expect(await run(model, prompt, 40, 2)).toEqual([together[i]![0], together[i]![0]]);
    expect((await model.metrics()).cache.device - before).toBeGreaterThanOrEqual(288 + 32 + 128);
    expect((await model.metrics()).pages.used).toBe(0);
  });

  it('stay where pages are few: sequences are retracted, and prefixes are found only in part', async () => {
    const tight = await open({ maxTotalTokens: 320, maxRunningRequests: 3 });
    // Ten pages of the layer that sees all tokens, and as many for each of the two groups of windowed ones.
    expect(tight.info.contextLength).toBe(512);
    expect((await tight.metrics()).pages.total).toBe(30);
    const prompts = [promptOf(100, 1), promptOf(110, 2), promptOf(60, 9)];
    const found = await Promise.all(prompts.map((prompt) => run(tight, prompt, 160)));
    expect((await tight.metrics()).retractions).toBeGreaterThan(0);
    found.forEach(([ids], i) => expectBest(prompts[i]!, ids!));
    for (const [i, prompt] of prompts.entries()) expect(await run(tight, prompt, 160)).toEqual(found[i]);
    await tight.close();
  });

  it('stay after the loss of the device', async () => {
    const prompts = [promptOf(200, 21), promptOf(90, 22)];
    const own = await open();
    const streams = prompts.map((prompt) => run(own, prompt, 80));
    while ((await own.metrics()).generatedTokens < 60) await new Promise((resolve) => setTimeout(resolve, 5));
    devices.at(-1)!.destroy();
    (await Promise.all(streams)).forEach(([ids], i) => expectBest(prompts[i]!, ids!));
    expect((await own.metrics()).deviceRestarts).toBe(1);
    await own.close();
  });

  it('stay when pages come back from host memory', async () => {
    const hosted = await open({ maxTotalTokens: 320, hostCache: 2 ** 24 });
    const prompt = promptOf(250, 31);
    const [ids] = await run(hosted, prompt, 20);
    expectBest(prompt, ids!);
    for (const seed of [41, 42]) await run(hosted, promptOf(300, seed), 5);
    expect(await run(hosted, prompt, 20)).toEqual([ids]);
    const { cache } = await hosted.metrics();
    expect(cache.host).toBeGreaterThan(0);
    expect(cache.loadedBack).toBeGreaterThan(0);
    await hosted.close();
  });
});

describe('the scheduler with mixed windows', () => {
  const limits = { slots: 8, rows: 16 };
  /** A page of two groups takes half of the bytes of one that both share. */
  const [shared, grouped] = [
    { ...limits, pages: 24 },
    { ...limits, pages: 48, windows: [null, 40] },
  ];
  const running = (options: typeof shared): number => {
    const scheduler = new Scheduler(options);
    for (let i = 0; i < 8; i++) scheduler.add(paperSequence(promptOf(320, i), 9));
    for (let step = 0; step < 100; step++) scheduler.plan();
    expect(scheduler.running.every(({ progress }) => progress.isPromptComputed)).toBe(true);
    return scheduler.running.length;
  };

  it('runs more sequences in as many bytes', () => {
    expect([running(shared), running(grouped)]).toEqual([2, 3]);
  });

  it('uses released pages again while the sequence runs', () => {
    const scheduler = new Scheduler({ ...limits, pages: 19, windows: [null, 40] });
    const sequence = paperSequence(promptOf(450, 1), 9, { shareable: 0 });
    scheduler.add(sequence);
    for (let step = 0; step < 40 && sequence.progress.computed < 450; step++) scheduler.plan();
    const { tables, passedPages } = sequence.placement;
    expect(sequence.progress.computed).toBe(450);
    expect(passedPages).toEqual([0, 12]);
    // All 15 pages of the first group are in use; the second has had 15 different places in the other four.
    expect(new Set(tables[0]).size).toBe(15);
    expect(new Set([...tables[0]!, ...tables[1]!]).size).toBeLessThanOrEqual(19);
  });

  it('finds a prefix up to the last boundary that still has the window', () => {
    const { pages } = new Scheduler({ ...limits, pages: 40, windows: [null, 40] });
    const sequence = paperSequence(promptOf(8 * 32 + 1, 1), 9);
    const keys = Array.from({ length: 8 }, (_, i) => `${i}`);
    sequence.placement.prefix.keys.push(...keys);
    let parent = null;
    for (const key of keys) {
      const node = pages.tree.child(sequence.placement.prefix.scope, parent, key);
      // The first group has all pages, the second those of places 2 to 4.
      for (const { group } of node.pages) pages.tree.hold(node.pages[group]!);
      pages.tree.place(node.pages[0]!, pages.pool.take()!);
      if (node.depth >= 2 && node.depth <= 4) pages.tree.place(node.pages[1]!, pages.pool.take()!);
      for (const cached of node.pages) pages.tree.release(cached);
      parent = node;
    }
    // The query at token 160 sees 40 tokens: places 3 and 4.
    expect(pages.match(sequence).map(({ key }) => key)).toEqual(['0', '1', '2', '3', '4']);
    expect(pages.claim(sequence, pages.match(sequence), 0)).toBe(true);
    expect(sequence.placement.passedPages).toEqual([0, 3]);
  });

  it('evicts released pages before those that the next request of a conversation needs', () => {
    const scheduler = new Scheduler({ ...limits, pages: 40, windows: [null, 40] });
    const { pages } = scheduler;
    const sequence = paperSequence(promptOf(450, 1), 9);
    scheduler.add(sequence);
    for (let step = 0; step < 40 && sequence.progress.computed < 450; step++) scheduler.plan();
    sequence.finish('abort', null);
    scheduler.sweep();
    const again = paperSequence(promptOf(450, 1), 9);
    const found = pages.match(again).length;
    expect(found).toBe(14);
    // The second group keeps the last two pages of its window, and the twelve before them are evicted first.
    pages.tree.evict(12);
    expect(pages.match(again)).toHaveLength(found);
    pages.tree.evict(1);
    expect(pages.match(again).length).toBeLessThan(found);
  });
});
