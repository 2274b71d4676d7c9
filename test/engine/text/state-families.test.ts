// Families whose layers keep fixed states, short convolutions, gated delta networks or Mamba-2 beside attention: the prefix cache changes no token, and the memory
// that its copies take is planned.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTextModel, planModel, type OpenEvent, type TextModel } from '../../../src/index.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { collect, goldenModel, greedy } from '../fixture.ts';

const folders = temporaryFolders();
const golden = goldenModel('lfm2', { max_position_embeddings: 1024 });
afterAll(() => golden.remove());
const options = { model: golden.path, inline: true, safe: true, memoryBudget: 2 ** 28 };

const ids = Array.from({ length: 330 }, (_, i) => (i * i * 5 + (i >> 2) * 11) % 250);

async function reply(model: TextModel, prompt: number[], n = 1): Promise<number[][]> {
  return (await collect(model.generate({ ...greedy(prompt, 8), n }))).ids;
}

describe.each(['lfm2', 'qwen3-next', 'falcon-h1'] as const)('the family %s', (name) => {
  const family = goldenModel(name, { max_position_embeddings: 1024 });
  const own = { ...options, model: family.path };
  let alone: TextModel;
  beforeAll(async () => {
    alone = await openTextModel({ ...own, prefixCache: false, maxRunningRequests: 1 });
  });
  afterAll(async () => {
    await alone.close();
    family.remove();
  });

  it('has the tokens of a model without a prefix cache, wherever prompts part', async () => {
    const model = await openTextModel({ ...own, prefillChunk: 64 });
    const lengths = [300, 64, 65, 96, 97, 128, 200, 257, 33, 31];
    const parting = lengths.map((length) => [...ids.slice(0, length), 7, length % 250, 9]);
    const wanted: number[][] = [];
    for (const prompt of parting) wanted.push((await reply(alone, prompt))[0]!);
    for (const [i, prompt] of parting.entries()) expect(await reply(model, prompt)).toEqual([wanted[i]]);
    const before = (await model.metrics()).cache.device;
    const together = await Promise.all(parting.map((prompt) => reply(model, prompt, 2)));
    together.forEach((replies, i) => expect(replies).toEqual([wanted[i], wanted[i]]));
    // Each of the prompts with at least two full pages is found up to its last one, or the one before: one page is not worth a copy.
    const pages = parting.map(({ length }) => Math.floor((length - 1) / 32)).filter((count) => count >= 2);
    const most = pages.reduce((sum, count) => sum + 32 * (count - 1), 0);
    expect((await model.metrics()).cache.device - before).toBeGreaterThanOrEqual(most);
    await model.close();
  });

  it('continues from the copies in its files after it slept', async () => {
    const storageCache = await folders({});
    const model = await openTextModel({ ...own, storageCache, sleepAfter: 50 });
    const prompt = ids.slice(0, 150);
    const [wanted] = await reply(alone, prompt);
    expect(await reply(model, prompt)).toEqual([wanted]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await reply(model, prompt)).toEqual([wanted]);
    expect((await model.metrics()).cache).toMatchObject({ storage: 128, fetched: 128, lookedUp: 150 });
    await model.close();
  });
});

it.each([0.5, 1, 2, 64])('a plan with states agrees with opening within %d MiB', async (mebibytes) => {
  const memoryBudget = mebibytes * 2 ** 20;
  const plan = await planModel({ model: golden.path, memoryBudget });
  const opened = await openTextModel({ ...options, memoryBudget }).catch(() => null);
  expect(plan.opens).toBe(opened !== null);
  const { tokenBytes, lengths } = plan.cache!;
  // Four copies of the states of two convolutions: two tokens of 64 columns each.
  expect(lengths.at(-1)).toEqual({ tokens: 1024, bytes: 1024 * tokenBytes + 4 * 2 * 2 * 64 * 4 });
  if (!opened) return;
  const { contextLength, memory } = opened.info;
  expect(plan.choices[0]).toMatchObject({ contextLength, weights: memory.weights });
  expect(memory.weights + memory.kv + memory.arena).toBeLessThanOrEqual(memoryBudget);
  await opened.close();
});

it('a note reports host memory that holds no copy of the states', async () => {
  const noted: string[] = [];
  const note = (event: OpenEvent): void => void (event.type === 'note' && noted.push(event.message));
  await (await openTextModel({ ...options, hostCache: 1000 }, note)).close();
  await (await openTextModel({ ...options, hostCache: 1024 }, note)).close();
  expect(noted).toEqual([expect.stringContaining("holds no copy of the model's fixed states")]);
});
