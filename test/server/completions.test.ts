// POST /v1/completions on a fake model: prompts, echo, suffix, log probabilities, several choices, streams, errors.

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { ServerOptions } from '../../src/server/service.ts';
import { start } from './harness.ts';
import { readEvents, script } from './scripted.ts';

interface Choice {
  index: number;
  text: string;
  finish_reason: string | null;
  matched_stop: unknown;
  logprobs: Record<string, unknown> | null;
  token_ids?: number[];
  prompt_token_ids?: number[];
}

interface Reply {
  id: string;
  object: string;
  choices: Choice[];
  usage?: Record<string, number>;
  error?: { code: string; param: string | null; message: string };
}

async function startCompleting(options: Partial<ServerOptions> = {}) {
  const harness = await start(options);
  script(harness.model, (request) => {
    const { prompt } = request;
    const name = 'text' in prompt ? prompt.text : 'ids' in prompt ? `ids ${prompt.ids.length}` : '?';
    return [{ say: `<${name}>` }, { say: ' two' }, { say: ' three' }, { end: 'stop' }];
  });
  const send = (body: object) =>
    fetch(`${harness.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', ...body }),
    });
  const post = async (body: object) => {
    const response = await send(body);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Reply };
  };
  const stream = async (body: object) => {
    const response = await send({ stream: true, ...body });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const events = readEvents(await response.text());
    expect(events.at(-1)!.data).toBe('[DONE]');
    return events.slice(0, -1).map(({ data }) => data as Reply);
  };
  return { ...harness, post, stream };
}

const textsOf = (chunks: Reply[]): string[] => {
  const texts: string[] = [];
  for (const { choices } of chunks)
    for (const { index, text } of choices) texts[index] = (texts[index] ?? '') + text;
  return texts;
};

describe('prompt', () => {
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
    [{ prompt: 'a', echo: true, logprobs: 1 }, 'unsupported', 'echo'],
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

it('n choices of each of several prompts are counted through', async () => {
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

describe('echo', () => {
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

describe('suffix', () => {
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

describe('logprobs', () => {
  const wanted = {
    tokens: ['<a>', ' two', ' three'],
    token_logprobs: [-0.25, -0.25, -0.25],
    top_logprobs: [
      { '<a>': -0.25, '<a>!': -0.5 },
      { ' two': -0.25, ' two!': -0.5 },
      { ' three': -0.25, ' three!': -0.5 },
    ],
    text_offset: [0, 3, 7],
  };

  it('are lists side by side', async () => {
    const { post, model } = await startCompleting();
    const { body } = await post({ prompt: 'a', logprobs: 2 });
    expect(model.requests[0]!.logprobs).toBe(2);
    expect(body.choices[0]!.logprobs).toEqual(wanted);
    expect((await post({ prompt: 'a' })).body.choices[0]!.logprobs).toBeNull();
    expect((await post({ prompt: 'a', logprobs: 0 })).body.choices[0]!.logprobs).toMatchObject({
      top_logprobs: [{}, {}, {}],
    });
  });

  it('come with the text they are of in a stream', async () => {
    const { stream } = await startCompleting();
    const parts = (await stream({ prompt: 'a', logprobs: 2 })).flatMap(({ choices }) =>
      choices.flatMap(({ logprobs }) => (logprobs ? [logprobs] : [])),
    );
    for (const [name, values] of Object.entries(wanted))
      expect(parts.flatMap((part) => part[name])).toEqual(values);
  });

  it('spell bytes that are no character', async () => {
    const { post, model } = await startCompleting();
    script(model, () => [{ say: 'x' }, { end: 'stop' }]);
    const { generate } = model;
    model.generate = async function* (request) {
      for await (const event of generate(request))
        yield event.type === 'delta'
          ? { ...event, logprobs: [{ id: 1, bytes: [0xe2, 0x80], logprob: -1, top: [] }] }
          : event;
    };
    const { body } = await post({ prompt: 'a', logprobs: 1 });
    expect(body.choices[0]!.logprobs).toMatchObject({ tokens: ['bytes:\\xe2\\x80'] });
  });
});

it('fields that all routes share reach the engine', async () => {
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

it('token ids, of prompt and text', async () => {
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

describe('streams', () => {
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

it('answers the openai client, streaming and not', async () => {
  const { url } = await startCompleting();
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const whole = await client.completions.create({ model: 'default', prompt: 'a' });
  expect(whole.choices[0]!.text).toBe('<a> two three');
  let text = '';
  const chunks = await client.completions.create({ model: 'default', prompt: 'a', stream: true });
  for await (const chunk of chunks) text += chunk.choices[0]!.text;
  expect(text).toBe('<a> two three');
});
