import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { ask, type Chunk, readChunks, start } from '../harness.ts';

describe('a plain chat reply', () => {
  it('has every member of the contract', async () => {
    const { post } = await start();
    const response = await post(ask('one two three'));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.closeTo(Date.now() / 1000, -1),
      model: 'default',
      system_fingerprint: expect.stringMatching(/^fp_\w+$/),
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'one two three', reasoning_content: null, tool_calls: null },
          logprobs: null,
          finish_reason: 'stop',
          matched_stop: 2,
        },
      ],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 3,
        total_tokens: 6,
        prompt_tokens_details: { cached_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 0 },
        reasoning_tokens: 0,
      },
    });
  });

  it('counts the prompt once and every choice', async () => {
    const { post } = await start();
    const reply = (await (await post(ask('one two', { n: 3 }))).json()) as OpenAI.ChatCompletion;
    expect(reply.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, 'one two'],
      [1, 'one two'],
      [2, 'one two'],
    ]);
    expect(reply.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 6, total_tokens: 8 });
  });

  it('hands the engine what was asked, and nothing that was not', async () => {
    const { post, model } = await start();
    await post(ask('hi'));
    expect(model.requests[0]).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      prompt: { messages: [{ role: 'user', content: 'hi' }] },
    });
    const everything = {
      max_completion_tokens: 5,
      max_tokens: 9,
      temperature: 0,
      top_p: 0.5,
      top_k: -1,
      min_p: 0.1,
      n: 2,
      seed: -7,
      stop: 'x',
      stop_token_ids: [3],
      logit_bias: { 12: -100 },
      ignore_eos: true,
      chat_template_kwargs: { enable_thinking: true },
    };
    expect((await post(ask('hi', everything))).status).toBe(200);
    expect(model.requests[1]).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      prompt: { messages: [{ role: 'user', content: 'hi' }], templateKwargs: { enable_thinking: true } },
      maxTokens: 5,
      temperature: 0,
      topP: 0.5,
      topK: -1,
      minP: 0.1,
      n: 2,
      seed: -7,
      stop: ['x'],
      stopTokenIds: [3],
      logitBias: { 12: -100 },
      ignoreEos: true,
    });
  });

  it('passes the conversation on with names, calls and their results', async () => {
    const { post, model } = await start();
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
    const messages = [
      { role: 'developer', content: 'be short' },
      { role: 'user', name: 'Ann', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: null, tool_calls: [call], reasoning_content: 'hm', refusal: null },
      { role: 'tool', tool_call_id: 'call_1', content: '3' },
      { role: 'function', name: 'f', content: '3' },
    ];
    expect((await post({ model: 'default', messages })).status).toBe(200);
    expect(model.requests[0]?.prompt).toEqual({
      messages: [
        { role: 'developer', content: 'be short' },
        { role: 'user', name: 'Ann', content: [{ type: 'text', text: 'hi' }] },
        { role: 'assistant', content: null, tool_calls: [call], reasoning_content: 'hm', refusal: null },
        { role: 'tool', tool_call_id: 'call_1', content: '3' },
        { role: 'function', name: 'f', content: '3' },
      ],
    });
  });

  it('logs one line with tokens and times', async () => {
    const { post, lines } = await start();
    await post(ask('one two three'), {
      headers: { 'content-type': 'application/json', 'x-request-id': 'mine-1' },
    });
    expect(lines).toEqual([
      expect.stringMatching(
        /^info POST \/v1\/chat\/completions 200 · 3 \(1 cached\) \+ 3 tokens, first after \d+ ms, [\d.]+ tok\/s · \d+ ms · mine-1$/,
      ),
    ]);
  });

  it('counts in the rate what came after the first token of each choice', async () => {
    const { post, lines } = await start();
    await post(ask('one', { n: 4 }));
    await post(ask('one two', { n: 4 }));
    await expect.poll(() => lines.length).toBe(2);
    expect(lines[0]).toContain('+ 4 tokens');
    expect(lines[0]).not.toContain('tok/s');
    expect(lines[1]).toMatch(/\+ 8 tokens, .* tok\/s/);
  });
});

describe('a chat stream', () => {
  it('starts with the role, ends with the reason, and keeps its id', async () => {
    const { post } = await start();
    const response = await post(ask('one two three', { stream: true, max_tokens: 2 }));
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const chunks = readChunks(await response.text());
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: 'one' },
      { content: ' two' },
      {},
    ]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, null, null, 'length']);
    expect(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size).toBe(1);
    expect(chunks.every(({ choices, usage }) => choices[0]?.logprobs === null && usage === undefined)).toBe(
      true,
    );
  });

  it('gives each choice a role and a finish chunk with what matched', async () => {
    const { post } = await start();
    const chunks = readChunks(await (await post(ask('one two', { stream: true, n: 2 }))).text());
    const finished = chunks
      .flatMap(({ choices }) => choices)
      .filter(({ finish_reason }) => finish_reason !== null);
    expect(chunks.slice(0, 2).map(({ choices }) => choices[0]?.index)).toEqual([0, 1]);
    expect(finished.map(({ index, matched_stop, delta }) => ({ index, matched_stop, delta }))).toEqual([
      { index: 0, matched_stop: 2, delta: {} },
      { index: 1, matched_stop: 2, delta: {} },
    ]);
  });

  it('reports usage at the end, or in every chunk', async () => {
    const { post } = await start();
    const stream = async (options: object) =>
      readChunks(await (await post(ask('one two', { stream: true, stream_options: options }))).text());

    const atEnd: Chunk[] = await stream({ include_usage: true });
    expect(atEnd.slice(0, -1).every(({ usage }) => usage === undefined)).toBe(true);
    expect(atEnd.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 2, completion_tokens: 2 } });

    const always = await stream({ continuous_usage_stats: true });
    expect(always.map(({ usage }) => usage?.completion_tokens)).toEqual([0, 1, 2, 2]);
    expect(always.at(-1)?.choices).toHaveLength(1);
  });
});

describe('the openai client', () => {
  async function connect() {
    const harness = await start({}, { names: ['org/fake-chat', 'alias'] });
    const client = new OpenAI({ baseURL: `${harness.url}/v1`, apiKey: 'unused', maxRetries: 0 });
    return { ...harness, client };
  }

  it('lists and retrieves models', async () => {
    const { client } = await connect();
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual(['org/fake-chat', 'alias']);
    expect(await client.models.retrieve('org/fake-chat')).toMatchObject({
      id: 'org/fake-chat',
      max_model_len: 4096,
      sampling_defaults: {
        temperature: { value: 0.4, source: 'generation_config.json' },
        top_p: { value: 1, source: 'contract' },
        top_k: { value: 0, source: 'contract' },
        min_p: { value: 0, source: 'contract' },
      },
    });
    await expect(client.models.retrieve('other')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
  });

  it.each(['org/fake-chat', 'fake-chat', 'alias', 'default'])('is answered as %s', async (model) => {
    const { client } = await connect();
    const reply = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'hi' }],
    });
    expect(reply.model).toBe(model);
  });

  it('streams', async () => {
    const { client } = await connect();
    const stream = await client.chat.completions.create({
      model: 'default',
      messages: [{ role: 'user', content: 'one two three' }],
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let total: number | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      total = chunk.usage?.total_tokens ?? total;
    }
    expect(text).toBe('one two three');
    expect(total).toBe(6);
  });

  // A served name under another organisation may be a different model.
  it.each(['org/other', 'org/alias', 'other/fake-chat'])('reads errors as that of %s', async (model) => {
    const { client } = await connect();
    const unknown = client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'x' }],
    });
    await expect(unknown).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
      type: 'invalid_request_error',
      requestID: expect.stringMatching(/^req_/),
      message: expect.stringContaining('org/fake-chat, alias'),
    });
  });

  it('reads an error in the middle of a stream', async () => {
    const { client } = await connect();
    const stream = await client.chat.completions.create({
      model: 'default',
      messages: [{ role: 'user', content: 'fail device_lost' }],
      stream: true,
    });
    const read = async () => {
      for await (const chunk of stream) expect(chunk.object).toBe('chat.completion.chunk');
    };
    await expect(read()).rejects.toThrow('failed with device_lost');
  });

  it('aborts', async () => {
    const { client, model } = await connect();
    const stream = await client.chat.completions.create({
      model: 'default',
      messages: [{ role: 'user', content: 'hang here' }],
      stream: true,
    });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content === 'hang') break;
    }
    await expect.poll(() => model.running).toBe(0);
  });
});
