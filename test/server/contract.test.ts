// The parts of the chat contract that need an engine, with the shipped model.

import { describe, expect, it } from 'vitest';
import { body, both, client, plain, serveShipped, streamed, url } from './shipped.ts';

serveShipped({}, { noise: true });

async function post(path: string, body: object): Promise<{ tokens: number[] }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await response.json()) as { tokens: number[] };
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

describe('the end of a choice', () => {
  it('has the reason: an end token, a stop string, the length', async () => {
    const natural = await both(CAPITAL);
    expect(natural).toMatchObject({ finish: 'stop', matched: expect.any(Number) });
    expect(natural.text).toContain('Paris');
    const stopped = await both(CAPITAL, { stop: ['Par', 'zebra'] });
    expect(stopped).toMatchObject({ finish: 'stop', matched: 'Par' });
    expect(stopped.text).toBe(natural.text.slice(0, natural.text.indexOf('Par')));
    const kept = await both(CAPITAL, { stop: 'Par', no_stop_trim: true });
    expect(kept.text).toBe(`${stopped.text}Par`);
    const matching = await both(CAPITAL, { stop_regex: ['[0-9]{9}', 'P[a-z]r'] });
    expect(matching).toMatchObject({ finish: 'stop', matched: 'P[a-z]r', text: stopped.text });
    expect(await both(CAPITAL, { max_completion_tokens: 2 })).toMatchObject({
      finish: 'length',
      matched: null,
    });
  });

  it('stays in the text where it is not to be trimmed, special tokens where they are not to be skipped', async () => {
    const natural = await both(CAPITAL);
    const { tokens } = await post('/tokenize', { prompt: 'is', add_special_tokens: false });
    const at = natural.text.indexOf('is');
    const trimmed = await both(CAPITAL, { stop_token_ids: tokens });
    expect(trimmed).toMatchObject({ matched: tokens[0], text: natural.text.slice(0, at) });
    const kept = await both(CAPITAL, { stop_token_ids: tokens, no_stop_trim: true });
    expect(kept.text).toBe(natural.text.slice(0, at + 'is'.length));
    expect((await both(CAPITAL, { no_stop_trim: true })).text).toBe(natural.text);
    const whole = await both(CAPITAL, { no_stop_trim: true, skip_special_tokens: false });
    expect(whole.text).toBe(`${natural.text}<|im_end|>`);
  });

  it('is no end token if that is to be ignored, but a stop token still', async () => {
    const natural = await plain(CAPITAL);
    const on = await plain(CAPITAL, { ignore_eos: true, max_completion_tokens: 12 });
    expect(on).toMatchObject({ finish: 'length', matched: null });
    expect(on.text.startsWith(natural.text)).toBe(true);
    const id = natural.matched as number;
    expect(await plain(CAPITAL, { ignore_eos: true, stop_token_ids: [id] })).toMatchObject({
      finish: 'stop',
      matched: id,
    });
  });

  it('comes no earlier than min_tokens', async () => {
    const natural = await plain(CAPITAL);
    const least = (natural.reply.usage?.completion_tokens ?? 0) + 5;
    const long = await both(CAPITAL, { min_tokens: least, stop: 'Par' });
    expect(long.reply.usage?.completion_tokens).toBeGreaterThanOrEqual(least);
    expect(long.text.startsWith(natural.text)).toBe(true);
  });
});

describe('log probabilities of a choice', () => {
  it('are of every token, best first, and spell the text', async () => {
    const { text, logprobs, reply } = await both(CAPITAL, { logprobs: true, top_logprobs: 5 });
    expect(logprobs).toHaveLength(reply.usage?.completion_tokens ?? 0);
    for (const { token, logprob, top_logprobs: top } of logprobs) {
      expect(top).toHaveLength(5);
      expect(top[0]).toMatchObject({ token, logprob });
      expect(top.map((one) => one.logprob)).toEqual(top.map((one) => one.logprob).toSorted((a, b) => b - a));
      expect(logprob).toBeLessThanOrEqual(0);
    }
    const bytes = logprobs.slice(0, -1).flatMap((entry) => entry.bytes ?? []);
    expect(Buffer.from(bytes).toString()).toContain(text);
  });
});

describe('choices and seeds', () => {
  it('repeat with their seed, and differ among each other', async () => {
    const more = { model: 'noise', n: 4, temperature: 1.5, seed: 7, max_completion_tokens: 12 };
    const texts = async () =>
      (await plain('Tell me a story.', more)).reply.choices.map(({ message }) => message.content);
    const first = await texts();
    expect(new Set(first).size).toBeGreaterThan(1);
    expect(await texts()).toEqual(first);
  });
});

describe('reasoning of a choice', () => {
  const thinking = { chat_template_kwargs: { enable_thinking: true }, max_completion_tokens: 200 };
  const SUM = 'What is 25 plus 48?';

  it('stands apart, is counted, may stay in the text, and comes in one piece where it is not to be streamed', async () => {
    const { reasoning, text, reply } = await plain(SUM, thinking);
    const { thoughts, ...pieces } = await streamed(SUM, thinking);
    expect(pieces).toMatchObject({ reasoning, text });
    expect(thoughts).toBeGreaterThan(1);
    expect(reasoning).not.toBe('');
    expect(text).not.toContain('think>');
    const counts = reply.usage as unknown as { reasoning_tokens: number; completion_tokens: number };
    expect(counts.reasoning_tokens).toBeGreaterThan(0);
    expect(counts.reasoning_tokens).toBeLessThan(counts.completion_tokens);
    const whole = await streamed(SUM, { ...thinking, separate_reasoning: false });
    expect(whole.reasoning).toBe('');
    expect(whole.text).toContain(reasoning.trim());
    expect(whole.text).toContain('</think>');
    const once = await streamed(SUM, { ...thinking, stream_reasoning: false });
    expect(once).toMatchObject({ thoughts: 1, reasoning, text });
  });

  it("is switched by OpenRouter's and OpenAI's fields", async () => {
    const begun = (more: object) => plain(SUM, { ...more, max_completion_tokens: 8 });
    expect((await begun({ reasoning: { enabled: true } })).reasoning).not.toBe('');
    expect((await begun({ reasoning_effort: 'none' })).reasoning).toBe('');
    const medium = await begun({ reasoning_effort: 'medium' });
    const unset = await begun({});
    expect([medium.reasoning, medium.text]).toEqual([unset.reasoning, unset.text]);
  });
});

describe('tools of a chat request', () => {
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

describe('prompts of a chat request', () => {
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
    const more = { return_cached_tokens_details: true, cache_salt: 'contract', max_completion_tokens: 6 };
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
  const endless = { model: 'noise', ignore_eos: true, max_completion_tokens: 3000, rid: 'endless' };

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
      const abort = await fetch(`${url}/abort_request`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"rid":"endless"}',
      });
      expect(abort.status).toBe(200);
    }
    expect(finish).toBe('abort');
  });
});

describe('a request that takes too long', () => {
  const more = { model: 'noise', request_timeout: 0.3, ignore_eos: true, max_completion_tokens: 3000 };

  it('is a 503 that may be tried again, not streaming', async () => {
    const headers = { 'content-type': 'application/json' };
    const asked = { method: 'POST', headers, body: JSON.stringify(body('Tell a story', more)) };
    const response = await fetch(`${url}/v1/chat/completions`, asked);
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({
      error: {
        code: 'timed_out',
        message: 'the request took 300 ms, the most it may: ask for fewer tokens, or raise request_timeout',
      },
    });
  });

  it('ends with what it has, streaming', async () => {
    const stream = await client.chat.completions.create({ ...body('Tell a story', more), stream: true });
    let finish: string | null = null;
    let text = '';
    const read = async () => {
      for await (const { choices } of stream) {
        text += choices[0]?.delta.content ?? '';
        finish = choices[0]?.finish_reason ?? finish;
      }
    };
    await expect(read()).rejects.toMatchObject({ code: 'timed_out' });
    expect(finish).toBe('abort');
    expect(text.length).toBeGreaterThan(0);
  });
});

describe('a refusal of the engine', () => {
  it.each([
    [{ messages: [{ role: 'user', content: 'hello '.repeat(9000) }] }, 'messages', 'context_length_exceeded'],
    [
      { thinking_budget: 8, chat_template_kwargs: { enable_thinking: true }, top_k: -5 },
      'top_k',
      'invalid_value',
    ],
    [{ return_routed_experts: true }, 'return_routed_experts', 'invalid_value'],
    [{ return_hidden_states: true }, 'return_hidden_states', 'invalid_value'],
    [{ stop_regex: '(' }, 'stop_regex.0', 'invalid_value'],
  ])('%# is a 400 under its field, streaming and not', async (more, param, code) => {
    await expect(plain('hi', more)).rejects.toMatchObject({ status: 400, param, code });
    await expect(streamed('hi', more)).rejects.toMatchObject({ status: 400, param, code });
  });
});
