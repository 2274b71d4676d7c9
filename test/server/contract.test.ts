// The chat contract on the model that ships, asked by the openai package: what only an engine can show.

import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTextModel, shippedModelPath, type TextModel } from '../../src/index.ts';
import { type RunningServer, startServer } from '../../src/server/lifecycle.ts';

let server: RunningServer;
let model: TextModel;
let client: OpenAI;

beforeAll(async () => {
  const log = { error: console.error, warn() {}, info() {}, debug() {} };
  server = await startServer({ host: '127.0.0.1', port: 0 }, log);
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'unused', maxRetries: 0, timeout: 50_000 });
  const served = server.addModel();
  model = await openTextModel({ model: shippedModelPath(), memoryBudget: 2 ** 29 });
  served.ready(model);
}, 120_000);

afterAll(async () => {
  await server?.close();
  await model?.close();
});

type Reply = Awaited<ReturnType<typeof plain>>;

interface Extra {
  matched_stop: string | number | null;
  token_ids?: number[];
  prompt_token_ids?: number[];
}

/** Fields that the openai package has no types for are passed on as they are. */
const body = (content: string, more: object) =>
  ({
    model: 'default',
    messages: [{ role: 'user', content }],
    temperature: 0,
    max_completion_tokens: 40,
    ...more,
  }) as OpenAI.ChatCompletionCreateParamsNonStreaming;

async function plain(content: string, more: object = {}) {
  const reply = await client.chat.completions.create(body(content, more));
  const choice = reply.choices[0]! as (typeof reply.choices)[0] & Extra;
  const { content: text, ...message } = choice.message as typeof choice.message & {
    reasoning_content?: string;
  };
  return {
    text: text ?? '',
    reasoning: message.reasoning_content ?? '',
    calls: message.tool_calls ?? [],
    logprobs: choice.logprobs?.content ?? [],
    finish: choice.finish_reason as string,
    matched: choice.matched_stop,
    choice,
    reply,
  };
}

async function streamed(content: string, more: object = {}) {
  const stream = await client.chat.completions.create({ ...body(content, more), stream: true });
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const choices = chunks.flatMap((chunk) => chunk.choices) as (OpenAI.ChatCompletionChunk.Choice & Extra)[];
  const deltas = choices.map(({ delta }) => delta as typeof delta & { reasoning_content?: string });
  return {
    text: deltas.map((delta) => delta.content ?? '').join(''),
    reasoning: deltas.map((delta) => delta.reasoning_content ?? '').join(''),
    thoughts: deltas.filter((delta) => delta.reasoning_content).length,
    logprobs: choices.flatMap(({ logprobs }) => logprobs?.content ?? []),
    finish: choices.at(-1)?.finish_reason as string,
    matched: choices.at(-1)?.matched_stop,
  };
}

/** The same plain and streamed. */
async function both(content: string, more: object = {}): Promise<Reply> {
  const whole = await plain(content, more);
  const { thoughts: _, ...pieces } = await streamed(content, more);
  const { text, reasoning, logprobs, finish, matched } = whole;
  expect(pieces).toEqual({ text, reasoning, logprobs, finish, matched });
  return whole;
}

const CAPITAL = 'What is the capital of France?';
const tool = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

describe('what ends a choice', () => {
  it('is told: an end token, a stop string, the length', async () => {
    const natural = await both(CAPITAL);
    expect(natural).toMatchObject({ finish: 'stop', matched: expect.any(Number) });
    expect(natural.text).toContain('Paris');
    const stopped = await both(CAPITAL, { stop: ['Par', 'zebra'] });
    expect(stopped).toMatchObject({ finish: 'stop', matched: 'Par' });
    expect(stopped.text).toBe(natural.text.slice(0, natural.text.indexOf('Par')));
    const kept = await both(CAPITAL, { stop: 'Par', no_stop_trim: true });
    expect(kept.text).toBe(`${stopped.text}Par`);
    expect(await both(CAPITAL, { max_completion_tokens: 2 })).toMatchObject({
      finish: 'length',
      matched: null,
    });
  });

  it('is no end token where that is to be ignored, but a stop token still', async () => {
    const natural = await plain(CAPITAL);
    const on = await plain(CAPITAL, { ignore_eos: true });
    expect(on).toMatchObject({ finish: 'length', matched: null });
    expect(on.text.startsWith(natural.text)).toBe(true);
    const id = natural.matched as number;
    expect(await plain(CAPITAL, { ignore_eos: true, stop_token_ids: [id] })).toMatchObject({
      finish: 'stop',
      matched: id,
    });
  });
});

describe('choices and seeds', () => {
  it('repeat with their seed, and differ among each other', async () => {
    const more = { n: 4, temperature: 1.5, seed: 7, max_completion_tokens: 24 };
    const texts = async () =>
      (await plain('Tell me a story.', more)).reply.choices.map(({ message }) => message.content);
    const first = await texts();
    expect(new Set(first).size).toBeGreaterThan(1);
    expect(await texts()).toEqual(first);
  });
});

describe('reasoning', () => {
  const thinking = { chat_template_kwargs: { enable_thinking: true }, max_completion_tokens: 200 };
  const SUM = 'What is 25 plus 48?';

  it('stands apart, is counted, and may stay in the text', async () => {
    const { reasoning, text, reply } = await both(SUM, thinking);
    expect(reasoning).not.toBe('');
    expect(text).not.toContain('think>');
    const counts = reply.usage as unknown as { reasoning_tokens: number; completion_tokens: number };
    expect(counts.reasoning_tokens).toBeGreaterThan(0);
    expect(counts.reasoning_tokens).toBeLessThan(counts.completion_tokens);
    const whole = await both(SUM, { ...thinking, separate_reasoning: false });
    expect(whole.reasoning).toBe('');
    expect(whole.text).toContain(reasoning.trim());
    expect(whole.text).toContain('</think>');
  });

  it('comes in one piece where it is not to be streamed', async () => {
    expect((await streamed(SUM, thinking)).thoughts).toBeGreaterThan(1);
    expect((await streamed(SUM, { ...thinking, stream_reasoning: false })).thoughts).toBe(1);
  });

  it("is switched by OpenRouter's and OpenAI's fields", async () => {
    const on = await plain(SUM, { reasoning: { enabled: true }, max_completion_tokens: 200 });
    expect(on.reasoning).not.toBe('');
    expect((await plain(SUM, { reasoning_effort: 'none' })).reasoning).toBe('');
    expect((await plain(SUM, { reasoning_effort: 'medium' })).text).toBe((await plain(SUM)).text);
  });
});

describe('tools', () => {
  it('are called, and their results are read', async () => {
    const asked: unknown[] = [];
    const runner = client.chat.completions.runTools({
      model: 'default',
      temperature: 0,
      messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
      tools: [
        {
          type: 'function',
          function: {
            ...tool.function,
            parse: (text: string): unknown => JSON.parse(text),
            function: (args: unknown) => {
              asked.push(args);
              return '{"temperature": 21, "sky": "sunny"}';
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain('21');
    expect(asked).toEqual([{ city: 'Paris' }]);
  });

  it('are left alone where the choice is none', async () => {
    const { calls, finish } = await plain('What is the weather in Paris?', {
      tools: [tool],
      tool_choice: 'none',
    });
    expect([calls, finish]).toEqual([[], 'stop']);
  });

  it('are streamed with their name first', async () => {
    const stream = client.chat.completions.stream({
      ...body('What is the weather in Paris?', { tools: [tool] }),
      stream: true,
    });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ id: expect.stringMatching(/^call_[\da-f]{24}$/) }] },
    });
  });
});

describe('prompts', () => {
  it('may be unfinished: the reply goes on with the last message', async () => {
    const messages = [
      { role: 'user', content: CAPITAL },
      { role: 'assistant', content: 'The capital of France is' },
    ];
    const { text } = await plain('', { messages, continue_final_message: true });
    expect(text).toMatch(/^ Paris/);
  });

  it('may be token ids: those of a conversation are answered as the conversation is', async () => {
    const asked = await plain(CAPITAL, { return_prompt_token_ids: true, return_token_ids: true });
    const { prompt_token_ids: input_ids = [], token_ids = [] } = asked.choice;
    expect(input_ids).toHaveLength(asked.reply.usage?.prompt_tokens ?? 0);
    expect(token_ids).toHaveLength(asked.reply.usage?.completion_tokens ?? 0);
    const again = await plain('', { messages: undefined, input_ids });
    expect(again.text).toBe(asked.text);
  });

  it('are found in the cache, which says where', async () => {
    const content = `Remember this: ${'my cat is called Tom and she is grey. '.repeat(8)}`;
    const more = { return_cached_tokens_details: true, cache_salt: 'contract' };
    const first = await plain(content, more);
    const second = await plain(content, more);
    expect(first.reply.usage?.prompt_tokens_details?.cached_tokens).toBe(0);
    const cached = second.reply.usage?.prompt_tokens_details?.cached_tokens ?? 0;
    expect(cached).toBeGreaterThan(0);
    expect(second.reply).toMatchObject({
      svcext: { cached_tokens_details: { device: cached, host: 0, storage: 0 } },
    });
    expect(second.text).toBe(first.text);
    const other = await plain(content, { ...more, cache_salt: 'another' });
    expect(other.reply.usage?.prompt_tokens_details?.cached_tokens).toBe(0);
  });
});

describe('a running request', () => {
  const endless = { ignore_eos: true, max_completion_tokens: 3000, rid: 'endless' };

  it('is aborted by its id, under which no second one runs', async () => {
    const stream = await client.chat.completions.create({
      ...body('Tell me a story.', endless),
      stream: true,
    });
    let finish: string | null = null;
    let seen = 0;
    for await (const { id, choices } of stream) {
      expect(id).toBe('endless');
      finish = choices[0]?.finish_reason ?? finish;
      seen += 1;
      if (seen !== 3) continue;
      await expect(plain('x', endless)).rejects.toMatchObject({ status: 400, param: 'rid' });
      const abort = await fetch(`${server.url}/abort_request`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"rid":"endless"}',
      });
      expect(abort.status).toBe(200);
    }
    expect(finish).toBe('abort');
  });
});

describe('what the engine refuses', () => {
  it.each([
    [{ messages: [{ role: 'user', content: 'hello '.repeat(9000) }] }, 'messages', 'context_length_exceeded'],
    [
      { thinking_budget: 8, chat_template_kwargs: { enable_thinking: true }, top_k: -5 },
      'top_k',
      'invalid_value',
    ],
    [{ return_routed_experts: true }, 'return_routed_experts', 'bad_request'],
    [{ return_hidden_states: true }, 'return_hidden_states', 'bad_request'],
  ])('%# is a 400 under its field, streaming and not', async (more, param, code) => {
    await expect(plain('hi', more)).rejects.toMatchObject({ status: 400, param, code });
    await expect(streamed('hi', more)).rejects.toMatchObject({ status: 400, param, code });
  });
});
