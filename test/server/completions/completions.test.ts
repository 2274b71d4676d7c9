// POST /v1/completions on a fake model: prompts, echo, suffix, several choices, streams, errors.

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { startCompleting, textsOf } from './completion-harness.ts';
import { start } from '../harness.ts';
import { script } from '../scripted.ts';

describe('the prompt of a completion', () => {
  it.each([
    ['a text', 'ab', [{ text: 'ab' }], ['<ab> two three']],
    ['token ids', [97, 98], [{ ids: [97, 98] }], ['<ids 2> two three']],
    ['texts', ['a', 'b'], [{ text: 'a' }, { text: 'b' }], ['<a> two three', '<b> two three']],
    [
      'lists of token ids',
      [[97], [98, 99]],
      [{ ids: [97] }, { ids: [98, 99] }],
      ['<ids 1> two three', '<ids 2> two three'],
    ],
  ])('is %s, streaming and not', async (_, prompt, prompts, texts) => {
    const { post, stream, model } = await startCompleting();
    const { status, body } = await post({ prompt });
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'text_completion' });
    expect(body.id).toMatch(/^cmpl-/);
    expect(body.choices.map(({ text }) => text)).toEqual(texts);
    expect(body.choices.map(({ index }) => index)).toEqual(texts.map((__, index) => index));
    expect(model.requests.map((request) => request.prompt)).toEqual(prompts);
    expect(model.requests[0]!.maxTokens).toBe(16);
    expect(body.usage).toMatchObject({
      prompt_tokens: 7 * texts.length,
      completion_tokens: 3 * texts.length,
      total_tokens: 10 * texts.length,
    });
    const chunks = await stream({ prompt });
    expect(textsOf(chunks)).toEqual(texts);
    for (const index of texts.keys()) {
      const ends = chunks.flatMap(({ choices }) =>
        choices.filter((choice) => choice.index === index && choice.finish_reason !== null),
      );
      expect(ends).toMatchObject([{ finish_reason: 'stop', matched_stop: 2 }]);
    }
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  it.each([
    [{}, 'missing_required_parameter', 'prompt'],
    [{ prompt: '' }, 'invalid_value', 'prompt'],
    [{ prompt: ['a', 7] }, 'invalid_type', 'prompt.1'],
    [{ prompt: [300] }, 'invalid_value', 'prompt.0'],
    [{ prompt: [[1], [2, 300]] }, 'invalid_value', 'prompt.1.1'],
    [{ prompt: 'a', max_tokens: 0 }, 'invalid_value', 'max_tokens'],
    [{ prompt: 'a', logprobs: 21 }, 'invalid_value', 'logprobs'],
    [{ prompt: 'a', logprobs: true }, 'invalid_type', 'logprobs'],
    [{ prompt: 'a', best_of: 2 }, 'unsupported', 'best_of'],
    [{ prompt: 'a', suffix: 'b', echo: true, logprobs: 1 }, 'unsupported', 'suffix'],
    [{ prompt: 'a', echo: true, max_tokens: -1 }, 'invalid_value', 'max_tokens'],
    [{ prompt: 'a', suffix: 'b' }, 'unsupported', 'suffix'],
    [{ prompt: [97], suffix: 'b' }, 'unsupported', 'suffix'],
    [{ prompt: 'a', min_tokens: 20 }, 'invalid_value', 'min_tokens'],
    [{ prompt: 'a', stream_options: { include_usage: true } }, 'invalid_value', 'stream_options'],
    [{ prompt: 'a', stop_token_ids: [999] }, 'invalid_value', 'stop_token_ids.0'],
    [{ prompt: 'a', model: 'gone' }, 'model_not_found', 'model'],
  ])('%j is refused', async (fields, code, param) => {
    const { post, model } = await startCompleting();
    const { body } = await post(fields);
    expect(body.error).toMatchObject({ code, param });
    expect(model.requests).toEqual([]);
  });
});

it('choices of several prompts are counted through', async () => {
  const { post, stream, model } = await startCompleting();
  const fields = { prompt: ['a', 'b'], n: 2, rid: 'mine' };
  const { body } = await post(fields);
  const wanted = ['<a> two three', '<a> two three', '<b> two three', '<b> two three'];
  expect(body.choices.map(({ index, text }) => [index, text])).toEqual(wanted.map((text, i) => [i, text]));
  expect(body.usage).toMatchObject({ prompt_tokens: 14, completion_tokens: 12 });
  expect(body.id).toBe('mine');
  expect(model.requests.map(({ id }) => id)).toEqual(['mine_0', 'mine_1']);
  expect(textsOf(await stream(fields))).toEqual(wanted);
});

describe('echo of a completion', () => {
  it.each([
    ['text', 'ab', ['ab<ab> two three']],
    ['token ids', [97, 98], ['ab<ids 2> two three']],
    ['texts', ['a', 'b'], ['a<a> two three', 'b<b> two three']],
  ])('of %s', async (_, prompt, texts) => {
    const { post, stream } = await startCompleting();
    expect((await post({ prompt, echo: true })).body.choices.map(({ text }) => text)).toEqual(texts);
    expect(textsOf(await stream({ prompt, echo: true }))).toEqual(texts);
  });
});

describe('the suffix of a completion', () => {
  it('that is empty, as at the end of a file, is none', async () => {
    const { post, model } = await startCompleting();
    expect((await post({ prompt: 'a', suffix: '' })).status).toBe(200);
    expect(model.requests[0]!.prompt).toEqual({ text: 'a' });
  });

  it.each([
    [['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'], '<|fim_prefix|>a<|fim_suffix|>z<|fim_middle|>'],
    [['[PREFIX]', '[SUFFIX]'], '[SUFFIX]z[PREFIX]a'],
  ])('with the tokens %j', async (marks, text) => {
    const { post, model } = await startCompleting();
    const plain = model.tokenize;
    model.tokenize = (given, options) =>
      marks.includes(given) ? Promise.resolve([200]) : plain(given, options);
    expect((await post({ prompt: 'a', suffix: 'z' })).status).toBe(200);
    expect(model.requests[0]!.prompt).toEqual({ text });
  });
});

it('fields that all routes share reach the engine from a completion', async () => {
  const { post, model } = await startCompleting();
  await post({
    prompt: 'a',
    max_tokens: 5,
    temperature: 0.5,
    stop: 'x',
    seed: 3,
    regex: 'a+',
    frequency_penalty: 1,
    logit_bias: { '5': 1 },
    min_tokens: 2,
  });
  expect(model.requests[0]).toEqual({
    prompt: { text: 'a' },
    maxTokens: 5,
    temperature: 0.5,
    stop: ['x'],
    seed: 3,
    constraint: { type: 'regex', pattern: 'a+' },
    frequencyPenalty: 1,
    logitBias: { '5': 1 },
    minTokens: 2,
  });
});

it('token ids of prompt and text come with a completion', async () => {
  const { post, stream } = await startCompleting();
  const fields = { prompt: 'a', return_token_ids: true, return_prompt_token_ids: true };
  const [choice] = (await post(fields)).body.choices;
  expect(choice).toMatchObject({ token_ids: [0, 1, 2], prompt_token_ids: [5, 6, 7] });
  const chunks = await stream(fields);
  expect(chunks[0]!.choices[0]!.prompt_token_ids).toEqual([5, 6, 7]);
  expect(chunks.flatMap(({ choices }) => choices.flatMap(({ token_ids: ids }) => ids ?? []))).toEqual([
    0, 1, 2,
  ]);
});

describe('streams of a completion', () => {
  it('tell usage where it is asked for', async () => {
    const { stream } = await startCompleting();
    const last = (await stream({ prompt: ['a', 'b'], stream_options: { include_usage: true } })).at(-1)!;
    expect(last.choices).toEqual([]);
    expect(last.usage).toMatchObject({ prompt_tokens: 14, completion_tokens: 6, total_tokens: 20 });
    const all = await stream({ prompt: 'a', stream_options: { continuous_usage_stats: true } });
    expect(all.every(({ usage }) => usage?.['prompt_tokens'] === 7)).toBe(true);
  });

  it('refuse with a status what is refused before it begins', async () => {
    const { post, model } = await startCompleting();
    script(model, () => {
      throw new RangeError('secret');
    });
    const { status, body } = await post({ prompt: ['a', 'b'], stream: true });
    expect([status, body.error?.code]).toEqual([500, 'internal']);
  });

  it('end every choice, and then tell the error', async () => {
    const { stream, model } = await startCompleting();
    const error = { code: 'device_lost' as const, message: 'gone' };
    script(model, ({ prompt }) =>
      'text' in prompt && prompt.text === 'a'
        ? [{ say: 'x' }, { end: 'abort', error }]
        : [{ say: 'y' }, { end: 'stop' }],
    );
    const chunks = await stream({ prompt: ['a', 'b'] });
    const ends = chunks
      .slice(0, -1)
      .flatMap(({ choices }) => choices.filter((choice) => choice.finish_reason));
    const reasons = ends.map(({ index, finish_reason: reason }) => [index, reason]);
    expect(Object.fromEntries(reasons)).toEqual({ 0: 'abort', 1: 'stop' });
    expect(chunks.at(-1)!.error).toMatchObject({ code: 'device_lost' });
  });
});

it('a completion that is cut short has the error, its status, and its text', async () => {
  const { post, model } = await startCompleting();
  const error = { code: 'device_lost' as const, message: 'gone' };
  script(model, ({ prompt }) =>
    'text' in prompt && prompt.text === 'a'
      ? [{ say: 'x' }, { end: 'abort', error }]
      : [{ say: 'y' }, { end: 'stop' }],
  );
  const { status, body } = await post({ prompt: ['a', 'b'], echo: true });
  expect(status).toBe(503);
  expect(body.error).toMatchObject({ code: 'device_lost', message: 'gone' });
  expect(body.choices.map(({ text, finish_reason: reason }) => [text, reason])).toEqual([
    ['ax', 'abort'],
    ['by', 'stop'],
  ]);
  script(model, () => [{ end: 'abort', error }]);
  expect((await post({ prompt: 'a' })).body).toEqual({ error: body.error });
});

it.each([false, true])(
  'hidden states and cached tokens come beside the text (stream: %s)',
  async (stream) => {
    const { url } = await start();
    const wishes = { return_hidden_states: true, return_cached_tokens_details: true };
    const response = await fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', prompt: 'one two', stream, ...wishes }),
    });
    const text = await response.text();
    expect(text).toContain('"hidden_states":[0,0]');
    expect(text).toContain('"svcext":{"cached_tokens_details":{"device":1,"host":0,');
  },
);

it('the openai client reads completions, streaming and not', async () => {
  const { url } = await startCompleting();
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const whole = await client.completions.create({ model: 'default', prompt: 'a' });
  expect(whole.choices[0]!.text).toBe('<a> two three');
  let text = '';
  const chunks = await client.completions.create({ model: 'default', prompt: 'a', stream: true });
  for await (const chunk of chunks) text += chunk.choices[0]!.text;
  expect(text).toBe('<a> two three');
});
