// Sampling settings through the engine: log probabilities equal to transformers', penalties, and mixed batches.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TextModel, TextRequest, TokenLogprob } from '../../../src/engine/text/calls/text-model.ts';
import { openGolden as goldenLogits } from '../../models/golden.ts';
import { collect, greedy, openGolden } from '../fixture.ts';

let model: TextModel;
beforeAll(async () => {
  model = await openGolden('llama', { prefillChunk: 32 });
});
afterAll(() => model.close());

function prompt(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (i * i * 31 + i * 7 + seed * 13) % 250);
}

async function logprobsOf(
  request: TextRequest,
  of = model,
): Promise<{ ids: number[]; logprobs: TokenLogprob[] }> {
  const ids: number[] = [];
  const logprobs: TokenLogprob[] = [];
  for await (const event of of.generate(request)) {
    if (event.type !== 'delta') continue;
    ids.push(...event.ids);
    logprobs.push(...(event.logprobs ?? []));
  }
  return { ids, logprobs };
}

function logSoftmax(values: Float32Array): number[] {
  const largest = Math.max(...values);
  const total = Math.log(values.reduce((sum, value) => sum + Math.exp(value - largest), 0));
  return [...values].map((value) => value - largest - total);
}

describe('log probabilities of a reply', () => {
  const golden = goldenLogits('llama');
  const [{ input_ids: input, positions }] = golden.cases as [(typeof golden.cases)[number]];

  test('are those of transformers, whatever the sampling', async () => {
    const rows = await golden.logits('default');
    for (const [i, position] of positions.entries()) {
      const wanted = logSoftmax(rows[i]!);
      const best = wanted.map((_, id) => id).sort((a, b) => wanted[b]! - wanted[a]!);
      const ids = input.slice(0, position + 1);
      const request = {
        prompt: { ids },
        maxTokens: 1,
        temperature: 1.8,
        seed: i,
        topK: 5,
        presencePenalty: 1,
      };
      const { ids: drawn, logprobs } = await logprobsOf({ ...request, ignoreEos: true, logprobs: 20 });
      expect(logprobs).toHaveLength(1);
      const [{ id, logprob, top }] = logprobs as [TokenLogprob];
      expect(id).toBe(drawn[0]);
      expect(Math.abs(logprob - wanted[id]!)).toBeLessThan(1e-3);
      expect(top).toHaveLength(20);
      for (const one of top) expect(Math.abs(one.logprob - wanted[one.id]!)).toBeLessThan(1e-3);
      expect(top.map((one) => one.id)).toEqual(best.slice(0, 20));
    }
  });

  test('come with every token, its bytes, and as many of the best as asked for', async () => {
    for (const count of [0, 1, 7]) {
      const { ids, logprobs } = await logprobsOf({ ...greedy(prompt(9, 2), 12), logprobs: count });
      expect(logprobs.map(({ id }) => id)).toEqual(ids);
      for (const { id, bytes, logprob, top } of logprobs) {
        expect(await model.detokenize([id])).toBe(new TextDecoder().decode(new Uint8Array(bytes)));
        expect(top).toHaveLength(count);
        if (count > 0) expect(top[0]).toEqual({ id, bytes, logprob });
      }
    }
  });

  test('are left out of a request that does not ask for them', async () => {
    const { ids, logprobs } = await logprobsOf(greedy(prompt(9, 2), 6));
    expect([ids.length, logprobs]).toEqual([6, []]);
  });

  test('are of the distribution that is sampled from if the model is opened so', async () => {
    const rows = await golden.logits('default');
    const processed = await openGolden('llama', { logprobsMode: 'processed' });
    const at = positions.length - 1;
    const ids = input.slice(0, positions[at]! + 1);
    const request = {
      prompt: { ids },
      maxTokens: 1,
      temperature: 0.5,
      seed: 1,
      logitBias: { 7: 3 },
      ignoreEos: true,
    };
    const { logprobs } = await logprobsOf({ ...request, logprobs: 3 }, processed);
    await processed.close();
    const wanted = logSoftmax(rows[at]!.map((value, id) => (value + (id === 7 ? 3 : 0)) / 0.5));
    const [{ id, logprob, top }] = logprobs as [TokenLogprob];
    expect(Math.abs(logprob - wanted[id]!)).toBeLessThan(2e-3);
    for (const one of top) expect(Math.abs(one.logprob - wanted[one.id]!)).toBeLessThan(2e-3);
  });
});

describe('penalties of a request', () => {
  const request = { ...greedy(prompt(20, 4), 40) };
  const repeats = (ids: number[]): number => ids.length - new Set(ids).size;

  test('count what was generated, not the prompt', async () => {
    const { ids: free } = await collect(model.generate(request));
    const { ids: once } = await collect(
      model.generate({ ...request, presencePenalty: 2, repetitionPenalty: 2, frequencyPenalty: 2 }),
    );
    // No token before the first one counts for penalties.
    expect(once[0]![0]).toBe(free[0]![0]);
    expect(repeats(once[0]!)).toBeLessThan(repeats(free[0]!));
  });

  test('below one make a repetition more likely', async () => {
    const { ids } = await collect(
      model.generate({
        ...request,
        maxTokens: 60,
        temperature: 1,
        seed: 3,
        repetitionPenalty: 0.0001,
        presencePenalty: 0,
      }),
    );
    // With a repetition penalty this small, any positive logit of a generated token becomes the largest.
    expect(new Set(ids[0]!.slice(5)).size).toBeLessThan(6);
  });
});

test('minTokens excludes every end token, of the model and of the request', async () => {
  const free = await collect(model.generate({ ...greedy(prompt(7, 1), 20) }));
  const stopTokenIds = free.ids[0]!.slice(0, 6);
  const early = await collect(model.generate({ ...greedy(prompt(7, 1), 20), stopTokenIds }));
  expect(early.ends[0]).toMatchObject({ completionTokens: 1, matchedStop: stopTokenIds[0] });
  const late = await collect(model.generate({ ...greedy(prompt(7, 1), 20), stopTokenIds, minTokens: 8 }));
  expect(late.ids[0]!.slice(0, 8).filter((id) => stopTokenIds.includes(id))).toEqual([]);
  expect(late.ids[0]!.length).toBeGreaterThanOrEqual(8);
});

test("tokens that the model's suppress_tokens names are never sampled, whatever a request's biases are", async () => {
  const request = greedy(prompt(7, 1), 12);
  const [usual = []] = (await collect(model.generate(request))).ids;
  const suppressed = usual.slice(0, 2);
  const settled = await openGolden('llama', { config: { suppress_tokens: suppressed }, prefillChunk: 32 });
  for (const bias of [0, 100]) {
    const logitBias = Object.fromEntries(suppressed.map((id) => [id, bias]));
    const { ids } = await collect(settled.generate({ ...request, logitBias }));
    expect(ids[0]).toHaveLength(12);
    expect(ids[0]!.filter((id) => suppressed.includes(id))).toEqual([]);
  }
  await settled.close();
});

test('a batch of mixed options is sampled as each request alone, through retractions, too', async () => {
  const requests = Array.from({ length: 10 }, (_, i): TextRequest => ({
    prompt: { ids: prompt(5 + ((i * 11) % 40), i) },
    maxTokens: 20 + i,
    ignoreEos: true,
    seed: i,
    temperature: i % 4 === 0 ? 0 : 1.2,
    ...(i % 2 ? { frequencyPenalty: 0.5, presencePenalty: 0.7 } : {}),
    ...(i % 3 ? { repetitionPenalty: 1.3 } : {}),
    ...(i % 5 === 1 ? { logprobs: 3 } : {}),
    ...(i % 5 === 2 ? { minTokens: 9, stopTokenIds: [4, 5, 6] } : {}),
    ...(i % 5 === 3 ? { logitBias: { [i]: 5, 17: -100 } } : {}),
  }));
  const alone = [];
  for (const request of requests) alone.push(await logprobsOf(request));
  const together = await Promise.all(requests.map((request) => logprobsOf(request)));
  expect(together).toEqual(alone);
  const tight = await openGolden('llama', { maxTotalTokens: 256, prefillChunk: 32 });
  const squeezed = await Promise.all(requests.map((request) => logprobsOf(request, tight)));
  const { retractions } = await tight.metrics();
  await tight.close();
  expect(retractions).toBeGreaterThan(0);
  expect(squeezed.map(({ ids }) => ids)).toEqual(alone.map(({ ids }) => ids));
});
