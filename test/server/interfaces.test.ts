// The other text interfaces with the shipped model, used by their own clients.

import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { APPLY_PATCH } from './responses/codex-request.ts';
import { client, plain, serveShipped, url } from './shipped.ts';

serveShipped({}, { noise: true });

const CAPITAL = 'What is the capital of France?';
const parameters = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Paris', 'Rome'] } },
  required: ['city'],
  additionalProperties: false,
};

const post = async (path: string, body: object = {}) => {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, unknown>;
};

describe('the route /v1/completions', () => {
  const ask = { model: 'default', prompt: 'The capital of France is', temperature: 0, max_tokens: 8 };

  it('goes on with a text, alone and among others, streaming and not', async () => {
    const whole = await client.completions.create({ ...ask, logprobs: 2 });
    const [choice] = whole.choices;
    expect(whole.usage?.completion_tokens).toBe(choice!.logprobs!.tokens!.length);
    expect(choice!.logprobs!.text_offset![0]).toBe(0);
    const many = await client.completions.create({ ...ask, prompt: ['Once upon a time', ask.prompt], n: 2 });
    expect(many.choices).toHaveLength(4);
    expect([many.choices[2]!.text, many.choices[3]!.text]).toEqual([choice!.text, choice!.text]);
    let text = '';
    const chunks = await client.completions.create({ ...ask, echo: true, stream: true });
    for await (const chunk of chunks) text += chunk.choices[0]!.text;
    expect(text).toBe(ask.prompt + choice!.text);
  });

  it('takes token ids for the same text', async () => {
    const { tokens } = await post('/tokenize', { prompt: ask.prompt });
    const byText = await client.completions.create(ask);
    const byIds = await client.completions.create({ ...ask, prompt: tokens as number[] });
    expect(byIds.choices[0]!.text).toBe(byText.choices[0]!.text);
    const { text } = await post('/detokenize', { tokens });
    expect(text).toBe(ask.prompt);
  });

  it('has no tokens to fill in the middle, and says so', async () => {
    await expect(client.completions.create({ ...ask, suffix: '!' })).rejects.toMatchObject({
      status: 400,
      param: 'suffix',
    });
  });
});

describe('the route /v1/responses', () => {
  const ask = { model: 'default', temperature: 0, max_output_tokens: 40 };

  it('says what a chat completion says, and goes on from it', async () => {
    const { text } = await plain(CAPITAL);
    const response = await client.responses.create({ ...ask, input: CAPITAL });
    expect(response.output_text).toBe(text);
    expect(response.status).toBe('completed');
    const next = await client.responses.create({
      ...ask,
      previous_response_id: response.id,
      input: 'And of Italy?',
    });
    expect(next.usage!.input_tokens).toBeGreaterThan(response.usage!.input_tokens);
    let streamed = '';
    for await (const event of await client.responses.create({ ...ask, input: CAPITAL, stream: true }))
      if (event.type === 'response.output_text.delta') streamed += event.delta;
    expect(streamed).toBe(text);
  });

  it('fits a schema, and calls a tool', async () => {
    const format = { type: 'json_schema' as const, name: 'city', schema: parameters, strict: true };
    const fitted = await client.responses.create({ ...ask, input: CAPITAL, text: { format } });
    expect(['Paris', 'Rome']).toContain((JSON.parse(fitted.output_text) as { city: string }).city);
    const called = await client.responses.create({
      ...ask,
      input: 'What is the weather in Rome?',
      tools: [
        {
          type: 'function',
          name: 'get_weather',
          description: 'The weather of a city',
          parameters,
          strict: true,
        },
      ],
    });
    const call = called.output.find((item) => item.type === 'function_call')!;
    expect(call.name).toBe('get_weather');
    expect(JSON.parse(call.arguments)).toHaveProperty('city');
  });

  it('holds the text of a free-form call to its grammar', async () => {
    const asking = (syntax: 'lark' | 'regex', definition: string, model = 'noise') => {
      const format = { type: 'grammar' as const, syntax, definition };
      return {
        ...ask,
        ...{ model, max_output_tokens: 80 },
        input: 'Turn around, please.',
        tools: [{ type: 'custom' as const, name: 'turn', description: 'Turns.', format }],
        tool_choice: { type: 'custom' as const, name: 'turn' },
      };
    };
    const callOf = async (syntax: 'lark' | 'regex', definition: string) => {
      const { output } = await client.responses.create(asking(syntax, definition));
      return output.find((item) => item.type === 'custom_tool_call')!;
    };
    const turn = /^(left|right) "[1-9]"$/;
    expect((await callOf('regex', turn.source.slice(1, -1))).input).toMatch(turn);
    expect((await callOf('lark', 'start: ("left" | "right") " \\"" N "\\""\nN: "1".."9"')).input).toMatch(
      turn,
    );
    let patch = '';
    for await (const event of client.responses.stream(asking('lark', APPLY_PATCH, 'default')))
      if (event.type === 'response.custom_tool_call_input.delta') patch += event.delta;
    expect(patch).toMatch(/^\*\*\* Begin Patch\n\*\*\* (Add|Delete|Update) File: ./);
  });
});

describe('the route /v1/messages', () => {
  const ask = { model: 'default', temperature: 0, max_tokens: 40 };
  const messages = [{ role: 'user' as const, content: CAPITAL }];
  const anthropic = () => new Anthropic({ baseURL: url, apiKey: 'unused', maxRetries: 0 });

  it('says what a chat completion says, streaming and not', async () => {
    const { text } = await plain(CAPITAL);
    const message = await anthropic().messages.create({ ...ask, messages });
    expect(message.content).toEqual([{ type: 'text', text }]);
    expect(message.stop_reason).toBe('end_turn');
    const streamed = await anthropic()
      .messages.stream({ ...ask, messages })
      .finalMessage();
    expect(streamed.content).toEqual(message.content);
    expect(streamed.usage.output_tokens).toBe(message.usage.output_tokens);
    const { input_tokens: counted } = await anthropic().messages.countTokens({ model: 'default', messages });
    expect(message.usage.input_tokens + message.usage.cache_read_input_tokens!).toBe(counted);
  });

  it('stops where it is told to, and goes on with what was begun', async () => {
    const stopped = await anthropic().messages.create({ ...ask, messages, stop_sequences: ['Par'] });
    expect([stopped.stop_reason, stopped.stop_sequence]).toEqual(['stop_sequence', 'Par']);
    const begun = [...messages, { role: 'assistant' as const, content: 'The capital of France is' }];
    const message = await anthropic().messages.create({ ...ask, messages: begun });
    expect(JSON.stringify(message.content)).toContain('Paris');
  });

  it('calls a tool, and reads its result', async () => {
    const tools = [
      {
        name: 'get_weather',
        description: 'The weather of a city',
        input_schema: { ...parameters, type: 'object' as const },
      },
    ];
    const question = { role: 'user' as const, content: 'What is the weather in Rome?' };
    const called = await anthropic().messages.create({
      ...ask,
      messages: [question],
      tools,
    });
    expect(called.stop_reason).toBe('tool_use');
    const use = called.content.find((block) => block.type === 'tool_use')!;
    expect(use.name).toBe('get_weather');
    const answered = await anthropic().messages.create({
      ...ask,
      messages: [
        question,
        { role: 'assistant', content: called.content },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: use.id, content: 'sunny, 21 degrees' }],
        },
      ],
      tools,
    });
    expect(answered.content.length).toBeGreaterThan(0);
  });
});

describe("Ollama's interface", () => {
  const messages = [{ role: 'user', content: CAPITAL }];
  const options = { temperature: 0, num_predict: 40 };
  interface Line {
    message: { content: string; tool_calls?: { function: { name: string; arguments: { city?: string } } }[] };
    response: string;
    done: boolean;
    done_reason?: string;
    eval_count: number;
  }
  const ask = async (path: string, body: object) =>
    (await post(path, { model: 'default', options, stream: false, ...body })) as unknown as Line;
  const lines = async (path: string, body: object) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', options, ...body }),
    });
    return (await response.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  };

  it('says what a chat completion says, streaming and not, to the last word', async () => {
    const { text, reply } = await plain(CAPITAL);
    const whole = await ask('/api/chat', { messages });
    expect([whole.message.content, whole.done_reason]).toEqual([text, 'stop']);
    expect(whole.eval_count).toBe(reply.usage!.completion_tokens);
    const chat = await lines('/api/chat', { messages });
    expect(chat.map(({ message }) => message.content).join('')).toBe(text);
    expect(chat.map(({ done }) => done)).toEqual([...chat.slice(1).map(() => false), true]);
    const generate = await lines('/api/generate', { prompt: CAPITAL });
    expect(generate.map(({ response }) => response).join('')).toBe(text);
    const short = { messages, options: { ...options, num_predict: 3 } };
    const cut = await lines('/api/chat', short);
    expect(cut.at(-1)).toMatchObject({ done_reason: 'length', eval_count: 3 });
    const begun = cut.map(({ message }) => message.content).join('');
    expect(begun).toBe((await ask('/api/chat', short)).message.content);
    expect(begun).not.toBe('');
  });

  it('goes on with a raw text', async () => {
    const prompt = 'The capital of France is';
    const completion = await client.completions.create({
      model: 'default',
      prompt,
      temperature: 0,
      max_tokens: 8,
    });
    const raw = { prompt, raw: true, options: { ...options, num_predict: 8 } };
    expect((await ask('/api/generate', raw)).response).toBe(completion.choices[0]!.text);
  });

  it('fits a schema, and calls a tool', async () => {
    const fitted = await ask('/api/chat', { messages, format: parameters });
    expect(['Paris', 'Rome']).toContain((JSON.parse(fitted.message.content) as { city: string }).city);
    const object = await ask('/api/generate', {
      prompt: CAPITAL,
      format: 'json',
      options: { num_predict: 200 },
    });
    if (object.done_reason === 'stop') expect(JSON.parse(object.response)).toBeTypeOf('object');
    const description = 'The weather of a city';
    const weather = {
      messages: [{ role: 'user', content: 'What is the weather in Rome?' }],
      tools: [{ type: 'function', function: { name: 'get_weather', description, parameters } }],
    };
    const { message } = await ask('/api/chat', weather);
    const [call] = message.tool_calls!;
    expect(call!.function.name).toBe('get_weather');
    expect(call!.function.arguments).toHaveProperty('city');
    const told = (await lines('/api/chat', weather)).flatMap((line) => line.message.tool_calls ?? []);
    expect(told.map((one) => one.function)).toEqual(message.tool_calls!.map((one) => one.function));
    const result = { role: 'tool', tool_name: 'get_weather', content: 'sunny, 21 degrees' };
    const answered = await ask('/api/chat', { ...weather, messages: [...weather.messages, message, result] });
    expect(answered.message.content.length).toBeGreaterThan(0);
  });
});

describe('the operator of a server', () => {
  it('ends requests by their ids', async () => {
    const stream = await client.chat.completions.create({
      model: 'default',
      messages: [{ role: 'user', content: 'Tell a story' }],
      stream: true,
      ...({ rid: 'story-1', ignore_eos: true, max_completion_tokens: 400 } as object),
    });
    const reasons: (string | null)[] = [];
    let asked = false;
    for await (const chunk of stream) {
      if (!asked) expect(await post('/abort_request', { rid: 'story' })).toEqual({ aborted: 1 });
      asked = true;
      reasons.push(chunk.choices[0]?.finish_reason ?? null);
    }
    expect(reasons).toContain('abort');
  });

  it('empties the cache, and sees what happened', async () => {
    const once = () => plain(`${CAPITAL} `.repeat(20), { max_completion_tokens: 2 });
    await once();
    const cached = async () => (await once()).reply.usage?.prompt_tokens_details?.cached_tokens ?? 0;
    expect(await cached()).toBeGreaterThanOrEqual(32);
    await expect.poll(() => post('/flush_cache')).toEqual({ flushed: true });
    expect(await cached()).toBe(0);
    const page = await (await fetch(`${url}/metrics`)).text();
    expect(page).toMatch(/svc:generation_tokens_total\{model_name="[^"]+"\} [1-9]/);
    expect(page).toMatch(/svc:max_total_num_tokens\{model_name="[^"]+"\} [1-9]/);
  });
});
