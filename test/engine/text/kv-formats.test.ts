// The KV cache in each of its formats: a request's tokens depend neither on its batch nor on what was cached, pages of one format are not read as
// those of another, the plan counts them, and log probabilities of a conversation stay near those with a cache in f16.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { planModel } from '../../../src/host/node/plan.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { openInline } from '../../../src/host/open.ts';
import { collect, goldenModel, greedy, openGolden } from '../fixture.ts';

const CODED = ['fp8_e4m3', 'int8', 'int4'] as const;
type Format = (typeof CODED)[number];

function prompt(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (i * i * 31 + i * 7 + seed * 13) % 250);
}

const SHARED = prompt(70, 1);
const REQUESTS = [0, 1, 2, 3].map((i) => greedy([...SHARED, ...prompt(1 + 9 * i, i)], 12));

const idsOf = async (model: TextModel, request: (typeof REQUESTS)[number]) =>
  (await collect(model.generate(request))).ids[0]!;

/** Of all layers alike, of layers with a window, and of layers with states between them. */
const FAMILIES = { fp8_e4m3: 'qwen3', int8: 'mistral', int4: 'qwen3-next' } as const;

describe.each(CODED)('a KV cache in %s', (kvCacheDtype) => {
  const name = FAMILIES[kvCacheDtype];
  it('gives a request the same tokens alone, together, cached, retracted, and as its own prompt', async () => {
    const alone: number[][] = [];
    {
      await using model = await openGolden(name, { kvCacheDtype, prefixCache: false });
      for (const request of REQUESTS) alone.push(await idsOf(model, request));
      // Generated tokens, given as a prompt, leave the same keys and values.
      const last = alone[3]!;
      const whole = [...SHARED, ...prompt(28, 3), ...last.slice(0, 8)];
      expect(await idsOf(model, greedy(whole, 4))).toEqual(last.slice(8));
    }
    await using few = await openGolden(name, { kvCacheDtype, maxTotalTokens: 224, prefillChunk: 32 });
    const together = () => Promise.all(REQUESTS.map((request) => idsOf(few, request)));
    expect(await together()).toEqual(alone);
    expect(await together()).toEqual(alone);
    const { cache, retractions } = await few.metrics();
    expect(retractions + cache.evicted).toBeGreaterThan(0);
    expect(cache.hitRate).toBeGreaterThan(0);
    expect(few.info.kvCacheDtype).toBe(kvCacheDtype);
  });
});

it('a model with ALiBi refuses codes of keys, beside which its positions stand', async () => {
  await expect(openGolden('bloom', { kvCacheDtype: 'int8' })).rejects.toThrow(
    'is not built for BloomForCausalLM, which keeps positions beside keys',
  );
});

it('pages in storage are found by models with their format alone', async () => {
  const storageCache = mkdtempSync(join(tmpdir(), 'svc-kv-formats-'));
  const cachedIn = async (kvCacheDtype: 'f16' | Format): Promise<[cached: number, ids: number[]]> => {
    await using model = await openGolden('qwen3', { kvCacheDtype, storageCache, hostCache: 2 ** 20 });
    let cached = 0;
    const ids: number[] = [];
    for await (const event of model.generate(REQUESTS[2]!)) {
      if (event.type === 'prefill') cached = event.cachedTokens!;
      if (event.type === 'delta') ids.push(...event.ids);
    }
    return [cached, ids];
  };
  const [none, ids] = await cachedIn('int8');
  expect(none).toBe(0);
  for (const other of ['f16', 'int4', 'fp8_e4m3'] as const) expect((await cachedIn(other))[0]).toBe(0);
  expect(await cachedIn('int8')).toEqual([64, ids]);
});

it('a cache of codes holds about as many more tokens as its codes are smaller, in the plan as in the model', async () => {
  const model = fileURLToPath(new URL('../../../models/svc-chat-mini', import.meta.url));
  const planned = async (kvCacheDtype: 'f16' | Format) => {
    const { cache } = await planModel({ model, memoryBudget: 2 ** 30, kvCacheDtype });
    expect(cache!.dtype).toBe(kvCacheDtype);
    return cache!.tokenBytes;
  };
  const halves = await planned('f16');
  expect(halves / (await planned('int8'))).toBeGreaterThan(1.9);
  expect(halves / (await planned('fp8_e4m3'))).toBeGreaterThan(1.9);
  expect(halves / (await planned('int4'))).toBeGreaterThan(3.7);

  const golden = goldenModel('qwen3').path;
  const asked = { memoryBudget: 2 ** 21, kvCacheDtype: 'int8' } as const;
  const plan = await planModel({ model: golden, ...asked });
  await using opened = await openGolden('qwen3', asked);
  const { contextLength, memory } = opened.info;
  expect(plan.choices[0]).toMatchObject({ contextLength, weights: memory.weights });
});

/** A conversation as the shipped model holds it. */
const TURNS = [
  ['user', 'Hello!'],
  ['assistant', "Hi! I'm Mini. How can I help you?"],
  ['user', 'What is the capital of France?'],
  ['assistant', 'Paris.'],
  ['user', 'My name is Ada and I have a dog called Rex. What is 27 + 15?'],
  ['assistant', '42'],
  ['user', 'Tell me a short story.'],
  ['assistant', 'A small bird flew over the sea. It found a boat and slept there until the morning.'],
  ['user', 'What is the name of my dog?'],
  ['assistant', 'Rex.'],
] as const;

/** Bounds of the mean change of a token's log probability, and of its mean magnitude. */
const BOUNDS = { int8: [0.01, 0.05], fp8_e4m3: [0.03, 0.2], int4: [0.1, 0.6] } as const;

it(
  'log probabilities of a conversation are near those with a cache in f16',
  { timeout: 120_000 },
  async () => {
    const path = fileURLToPath(new URL('../../../models/svc-chat-mini', import.meta.url));
    const logprobs = async (kvCacheDtype: 'f16' | Format): Promise<number[]> => {
      const options = { model: path, memoryBudget: 2 ** 29, kvCacheDtype, maxRunningRequests: 1 };
      await using model = await openInline(TEXT, nodePlatform, options);
      const messages = TURNS.map(([role, content]) => ({ role, content }));
      for await (const event of model.generate({ prompt: { messages }, maxTokens: 0, promptLogprobs: 0 }))
        if (event.type === 'prompt') return event.tokens.slice(1).map(({ logprob }) => logprob!);
      throw new Error('no log probabilities of the prompt');
    };
    const halves = await logprobs('f16');
    expect(halves.length).toBeGreaterThan(100);
    for (const format of CODED) {
      const found = await logprobs(format);
      const apart = found.map((value, i) => value - halves[i]!);
      const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
      const [ofMean, ofMagnitude] = BOUNDS[format];
      expect(Math.abs(mean(apart)), format).toBeLessThan(ofMean);
      expect(mean(apart.map(Math.abs)), format).toBeLessThan(ofMagnitude);
    }
  },
);
