// The prefix cache on the golden checkpoints: every request generates the same text with and without it.

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CachedTokens, TextModel, TextRequest } from '../../../src/engine/text/calls/text-model.ts';
import { CACHE, collect, openGolden, type GoldenName } from '../fixture.ts';

function prompt(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (i * i * 31 + i * 7 + seed * 13) % 250);
}

/** Greedy and sampled requests with a common prefix, single and with several choices. */
function requests(): TextRequest[] {
  const shared = prompt(70, 1);
  return Array.from({ length: 12 }, (_, i) => ({
    prompt: { ids: [...shared.slice(0, [70, 40, 64][i % 3]), ...prompt(i * 3, i)] },
    maxTokens: 8 + i,
    ignoreEos: true,
    temperature: i % 2,
    ...(i % 2 ? { seed: i, topP: 0.95 } : {}),
    ...(i % 4 === 3 ? { n: 3 } : {}),
  }));
}

/** Returns the text of a request and where its prompt was found. */
async function ask(
  model: TextModel,
  request: TextRequest,
): Promise<{ ids: number[][]; cached: CachedTokens | undefined }> {
  let cached: CachedTokens | undefined;
  const ids: number[][] = [];
  for await (const event of model.generate(request)) {
    if (event.type === 'delta') (ids[event.choice] ??= []).push(...event.ids);
    if (event.type !== 'prefill') continue;
    cached = event.cached;
    const { device, host, storage } = event.cached!;
    expect(device + host + storage).toBe(event.cachedTokens);
    expect(event.cachedTokens).toBeLessThanOrEqual(event.processed);
  }
  return { ids, cached };
}

async function askAll(model: TextModel): Promise<number[][][]> {
  return (await Promise.all(requests().map((request) => ask(model, request)))).map(({ ids }) => ids);
}

describe.each<GoldenName>(['llama', 'mistral', 'qwen3'])('prefix caching of %s changes no token', (name) => {
  let expected: number[][][];
  beforeAll(async () => {
    const model = await openGolden(name, { prefixCache: false });
    expected = [];
    for (const request of requests()) expected.push((await ask(model, request)).ids);
    expect((await model.metrics()).cache).toMatchObject({ device: 0, hitRate: 0 });
    await model.close();
  });

  test('one after the other, together, and again', async () => {
    const model = await openGolden(name, { prefillChunk: 32 });
    for (const [i, request] of requests().entries())
      expect((await ask(model, request)).ids).toEqual(expected[i]);
    expect(await askAll(model)).toEqual(expected);
    expect(await model.flushCache()).toBe(true);
    expect(await askAll(model)).toEqual(expected);
    const { cache, pages } = await model.metrics();
    expect(cache.hitRate).toBeGreaterThan(0.4);
    expect(pages).toMatchObject({ used: 0 });
    expect(pages.cached).toBeGreaterThan(3);
    await model.close();
  });

  test('on so few pages that prefixes are dropped and requests retracted', async () => {
    const model = await openGolden(name, { maxTotalTokens: 224 });
    for (let round = 0; round < 2; round++) expect(await askAll(model)).toEqual(expected);
    const { cache, retractions } = await model.metrics();
    expect(cache.evicted).toBeGreaterThan(0);
    expect(retractions).toBeGreaterThan(0);
    await model.close();
  });
});

describe('rotary frequencies that depend on the length', () => {
  const rope = { rope_theta: 10000, factor: 4, original_max_position_embeddings: 48 };
  test.each(['dynamic', 'longrope'])(
    'share pages only where the rotations are the same: %s',
    async (rope_type) => {
      const factors = (value: number): number[] => Array.from({ length: 8 }, () => value);
      const rope_scaling = { ...rope, rope_type, short_factor: factors(1), long_factor: factors(3) };
      // The type dynamic extends the stated context; longrope states the extended one.
      const config = {
        max_position_embeddings: rope_type === 'dynamic' ? 48 : 192,
        rope_parameters: null,
      };
      const open = (prefixCache: boolean) =>
        openGolden('llama', { prefixCache, config: { ...config, rope_scaling } });
      const lengths = [34, 40, 47, 60, 60, 61, 100, 34];
      const texts = lengths.map((length): TextRequest => ({
        prompt: { ids: prompt(length, 3) },
        maxTokens: 30,
        temperature: 0,
        ignoreEos: true,
      }));
      const [off, on] = [await open(false), await open(true)];
      const found: number[] = [];
      for (const request of texts) {
        const { ids, cached } = await ask(on, request);
        expect(ids).toEqual((await ask(off, request)).ids);
        found.push(cached!.device);
      }
      expect(found).toEqual(
        rope_type === 'dynamic' ? [0, 32, 32, 0, 32, 0, 0, 32] : [0, 32, 32, 0, 59, 60, 61, 32],
      );
      await Promise.all([off.close(), on.close()]);
    },
  );
});

describe('the slower tiers of the cache', () => {
  const hostCache = 2 ** 20;
  let expected: number[][][];
  beforeAll(async () => {
    const model = await openGolden('qwen3', { prefixCache: false });
    expected = await askAll(model);
    await model.close();
  });

  test('change no token on few pages, with host memory and files, over a restart', async () => {
    const folder = mkdtempSync(join(CACHE, 'pages-'));
    for (const life of [0, 1]) {
      const model = await openGolden('qwen3', { maxTotalTokens: 224, hostCache, storageCache: folder });
      expect(model.info.storageBackend).toBe('file');
      for (let round = 0; round < 2; round++) expect(await askAll(model)).toEqual(expected);
      const { cache } = await model.metrics();
      expect(cache.host).toBeGreaterThan(0);
      expect(cache.storage > 0).toBe(life === 1);
      expect(cache.loadedBack).toBeGreaterThan(0);
      expect(cache.hostBytes.used).toBeLessThanOrEqual(hostCache);
      await model.close();
    }
  });

  test('have no pages of other weights, formats and settings', async () => {
    const folder = mkdtempSync(join(CACHE, 'pages-'));
    const request = requests()[0]!;
    const others: Parameters<typeof openGolden>[] = [
      ['qwen3', {}],
      ['qwen3', { quantization: 'int8' }],
      ['qwen3', { config: { rms_norm_eps: 1e-3 } }],
      ['qwen2', {}],
      ['qwen3', {}],
    ];
    const found: number[] = [];
    for (const [name, options] of others) {
      const [on, off] = [
        await openGolden(name, { ...options, storageCache: folder }),
        await openGolden(name, { ...options, prefixCache: false }),
      ];
      const { ids, cached } = await ask(on, request);
      expect(cached!.storageBackend).toBe('file');
      expect(ids).toEqual((await ask(off, request)).ids);
      found.push(cached!.storage);
      await Promise.all([on.close(), off.close()]);
    }
    expect(found).toEqual([0, 0, 0, 0, 64]);
  });
});

describe('cache salts', () => {
  let model: TextModel;
  beforeAll(async () => {
    model = await openGolden('qwen3');
  });
  afterAll(() => model.close());

  test('share pages among requests with the same one', async () => {
    const request = { prompt: { ids: prompt(70, 5) }, maxTokens: 4, temperature: 0 };
    const found: (number | undefined)[] = [];
    for (const cacheSalt of ['a', 'b', 'a', undefined, undefined])
      found.push(
        (await ask(model, { ...request, ...(cacheSalt === undefined ? {} : { cacheSalt }) })).cached?.device,
      );
    expect(found).toEqual([0, 0, 64, 0, 64]);
  });

  test('count the text of a choice as cached once: with its request', async () => {
    const before = await model.metrics();
    const { ids } = await collect(
      model.generate({ prompt: { ids: prompt(90, 6) }, maxTokens: 3, temperature: 1, seed: 4, n: 8 }),
    );
    expect(ids).toHaveLength(8);
    const after = await model.metrics();
    expect(after.cache.lookedUp - before.cache.lookedUp).toBe(90);
    expect(after.promptTokens - before.promptTokens).toBe(90);
  });
});
