// Log probabilities of a prompt's tokens: equal to those of transformers and to those of the same tokens when generated, however
// the prompt is divided, batched, cached or adapted.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  PromptToken,
  TextEvent,
  TextModel,
  TokenLogprob,
} from '../../../../src/engine/text/calls/text-model.ts';
import type { TextRequest } from '../../../../src/engine/text/calls/text-request.ts';
import { openGolden as openStored } from '../../../models/golden.ts';
import { greedy, openGolden } from '../../fixture.ts';

/** Weights, keys and values of this checkpoint are f32. */
const TOLERANCE = 1e-3;

const ADAPTER = fileURLToPath(new URL('../../../golden/lora/llama-all', import.meta.url));

async function all(model: TextModel, request: TextRequest): Promise<TextEvent[]> {
  const events: TextEvent[] = [];
  for await (const event of model.generate(request)) events.push(event);
  return events;
}

function promptOf(events: TextEvent[]): PromptToken[] {
  const told = events.filter((event) => event.type === 'prompt');
  expect(told.length).toBe(1);
  return told[0]!.tokens;
}

async function readPrompt(model: TextModel, ids: number[], more: Partial<TextRequest> = {}) {
  return promptOf(await all(model, { ...greedy(ids, 0), promptLogprobs: 3, ...more }));
}

function prompt(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (i * i * 31 + i * 7 + seed * 13) % 250);
}

const logsOf = (row: Float32Array): number[] => {
  const largest = row.reduce((most, value) => Math.max(most, value), -Infinity);
  const total = Math.log(row.reduce((sum, value) => sum + Math.exp(value - largest), 0));
  return [...row].map((value) => value - largest - total);
};

let model: TextModel;
beforeAll(async () => {
  model = await openGolden('llama', {
    prefillChunk: 32,
    maxRunningRequests: 4,
    loraPaths: [`all=${ADAPTER}`],
  });
}, 240_000);
afterAll(() => model.close());

test('log probabilities of a prompt are those of transformers, as are the best at each place', async () => {
  const stored = openStored('llama');
  const golden = stored.cases.find(({ name }) => name === 'default') ?? stored.cases[0]!;
  const rows = await stored.logits(golden.name);
  const tokens = await readPrompt(model, golden.input_ids);
  expect(tokens.map(({ id }) => id)).toEqual(golden.input_ids);
  expect(tokens[0]).toMatchObject({ logprob: null, top: [] });
  let compared = 0;
  golden.positions.forEach((position, i) => {
    const told = tokens[position + 1];
    if (!told) return;
    const logs = logsOf(rows[i]!);
    const best = [...logs].sort((a, b) => b - a).slice(0, 3);
    expect(Math.abs(told.logprob! - logs[told.id]!)).toBeLessThan(TOLERANCE);
    expect(told.top.length).toBe(3);
    told.top.forEach(({ id, logprob }, k) => {
      expect(Math.abs(logprob - logs[id]!)).toBeLessThan(TOLERANCE);
      expect(Math.abs(logprob - best[k]!)).toBeLessThan(TOLERANCE);
    });
    compared++;
  });
  expect(compared).toBeGreaterThanOrEqual(4);
});

describe.each([
  ['the model', undefined],
  ['a LoRA', 'all'],
])('log probabilities of a prompt by %s', (_, lora) => {
  const own = lora === undefined ? {} : { lora };

  test('are those of the tokens when they were drawn', async () => {
    const ids = prompt(11, 4);
    const drawn: TokenLogprob[] = [];
    for (const event of await all(model, { ...greedy(ids, 40), logprobs: 3, ...own }))
      if (event.type === 'delta') drawn.push(...event.logprobs!);
    const read = await readPrompt(model, [...ids, ...drawn.map(({ id }) => id)], own);
    expect(read.slice(ids.length).map(({ text: __, ...told }) => told)).toEqual(drawn);
  });

  test('do not depend on other requests or the size of chunks, and take nothing from the cache', async () => {
    const lengths = [1, 2, 33, 70, 16];
    const alone: PromptToken[][] = [];
    for (const [i, length] of lengths.entries()) alone.push(await readPrompt(model, prompt(length, i), own));
    const others = [0, 1].map((i) => all(model, { ...greedy(prompt(20, 9 + i), 30), lora: 'all' }));
    const together = await Promise.all(
      lengths.map((length, i) => readPrompt(model, prompt(length, i), { ...own, promptLogprobs: 1 + i })),
    );
    await Promise.all(others);
    together.forEach((tokens, i) => {
      const expected = alone[i]!.map(({ top, ...told }) => ({ ...told, top: top.slice(0, 1 + i) }));
      expect(tokens.map(({ top, ...told }) => ({ ...told, top: top.slice(0, 3) }))).toEqual(expected);
    });
    const events = await all(model, { ...greedy(prompt(70, 3), 2), promptLogprobs: 3, ...own });
    expect(promptOf(events)).toEqual(alone[3]);
    expect(events.find(({ type }) => type === 'prefill')).toMatchObject({ cachedTokens: 0 });
    // Later requests find the pages that it computed.
    const later = await all(model, { ...greedy(prompt(70, 3), 2), ...own });
    expect(later.find(({ type }) => type === 'prefill')).toMatchObject({ cachedTokens: 64 });
  });
});

test('prompt log probabilities come once, before any text of any choice', async () => {
  const request = { ...greedy(prompt(40, 2), 3), n: 3, temperature: 1, seed: 5, promptLogprobs: 0 };
  const events = await all(model, request);
  const tokens = promptOf(events);
  expect(tokens.length).toBe(40);
  expect(tokens.every(({ top }) => top.length === 0)).toBe(true);
  const types = events.map(({ type }) => type).filter((type) => type === 'prompt' || type === 'delta');
  expect(types[0]).toBe('prompt');
  expect(types.length).toBeGreaterThan(3);
});

test('prompt log probabilities come where a grammar forces the text, too', async () => {
  const events = await all(model, {
    ...greedy(prompt(5, 2), 8),
    constraint: { type: 'regex', pattern: 'abcd' },
    promptLogprobs: 1,
  });
  const types = events.map(({ type }) => type);
  expect(types.indexOf('prompt')).toBeLessThan(types.indexOf('delta'));
  const text = events.map((event) => (event.type === 'delta' ? event.text : '')).join('');
  expect(text).toBe('abcd');
});

test('a request for no tokens reads its prompt and ends', async () => {
  for (const length of [1, 32, 33]) {
    const events = await all(model, { ...greedy(prompt(length, 6), 0), n: 2 });
    expect(events.filter(({ type }) => type === 'delta')).toEqual([]);
    expect(events.filter(({ type }) => type === 'done')).toMatchObject([
      { finishReason: 'length', completionTokens: 0 },
      { finishReason: 'length', completionTokens: 0 },
    ]);
  }
  const forced = { type: 'regex', pattern: 'abcd' } as const;
  const events = await all(model, { ...greedy(prompt(5, 6), 0), constraint: forced });
  expect(events.map(({ type }) => type)).toEqual(['accepted', 'prefill', 'done']);
  expect(await model.metrics()).toMatchObject({ running: 0, waiting: 0, pages: { used: 0 } });
});

test('the text of a prompt is that of its tokens', async () => {
  const ids = [...new TextEncoder().encode('plain text')];
  const tokens = await readPrompt(model, ids);
  expect(tokens.map(({ text }) => text).join('')).toBe(await model.detokenize(ids));
});
