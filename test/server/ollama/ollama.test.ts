// Requests of Ollama's interface on a fake model: what reaches the engine, and errors in that interface's form.

import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/index.ts';
import { HELLO, startOllama } from './ollama-harness.ts';

const USER = { role: 'user', content: 'Hi' };
const schema = { type: 'object', properties: { a: { type: 'string' } } };
const tools = [{ type: 'function', function: { name: 'f', description: 'does', parameters: schema } }];

describe('a conversation in the Ollama interface', () => {
  it('with calls, results and thoughts', async () => {
    const { chat, model } = await startOllama(HELLO);
    const { status } = await chat({
      messages: [
        { role: 'system', content: 'Be kind.' },
        { ...USER, images: [] },
        {
          role: 'assistant',
          content: '',
          thinking: 'Hm',
          tool_calls: [{ function: { index: 0, name: 'f', arguments: { a: 'b' } } }],
        },
        { role: 'tool', tool_name: 'f', content: 'blue' },
      ],
      tools,
    });
    expect(status).toBe(200);
    expect(model.requests[0]!.prompt).toEqual({
      messages: [
        { role: 'system', content: 'Be kind.' },
        USER,
        {
          role: 'assistant',
          content: '',
          reasoning_content: 'Hm',
          tool_calls: [{ type: 'function', function: { name: 'f', arguments: { a: 'b' } } }],
        },
        { role: 'tool', content: 'blue', name: 'f' },
      ],
      tools,
    });
  });

  it('that ends with a beginning of the reply is gone on with', async () => {
    const { chat, model } = await startOllama(HELLO);
    await chat({ messages: [USER, { role: 'assistant', content: 'Well' }] });
    expect(model.requests[0]!.prompt).toMatchObject({ continueFinal: true });
  });

  it.each(['guided_json', 'response_format'])(
    'with %s is refused: the text would ignore it',
    async (name) => {
      const { chat, model } = await startOllama(HELLO);
      const { status, body } = await chat({ messages: [USER], [name]: {} });
      const error = `${name} is another server's name for what format says here; send that`;
      expect([status, body, model.requests]).toEqual([400, { error }, []]);
    },
  );

  it.each(['org/chat', 'chat', 'chat:latest', 'org/chat:latest', 'default'])('with %s', async (name) => {
    const { chat, model } = await startOllama(HELLO);
    expect(await chat({ model: name })).toMatchObject({ status: 200, body: { model: name } });
    expect(model.requests[0]!.lora).toBeUndefined();
  });

  it('comes as curl -d sends it, unless a page of another site does', async () => {
    const { url } = await startOllama(HELLO);
    const post = (headers: Record<string, string>) =>
      fetch(`${url}/api/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: JSON.stringify({ model: 'chat', messages: [USER], stream: false }),
      });
    expect((await post({})).status).toBe(200);
    expect((await post({ origin: 'http://localhost:3000' })).status).toBe(200);
    const refused = await post({ origin: 'https://evil.example' });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toEqual({ error: expect.stringContaining('application/json') });
  });

  it('that is empty loads the model, which is loaded', async () => {
    const { chat, generate, model } = await startOllama(HELLO);
    const load = { model: 'chat', done: true, done_reason: 'load' };
    let woken = 0;
    model.tokenize = () => Promise.resolve([]).finally(() => woken++);
    for (const messages of [[], null])
      expect(await chat({ messages, keep_alive: -1 })).toMatchObject({
        status: 200,
        body: { ...load, message: { role: 'assistant', content: '' } },
      });
    for (const prompt of ['', null])
      expect(await generate({ prompt, stream: true })).toMatchObject({
        status: 200,
        body: { ...load, response: '' },
      });
    expect((await chat({ messages: [], model: 'none' })).status).toBe(404);
    expect(woken).toBe(4);
    expect(model.requests).toEqual([]);
  });

  it('with a LoRA', async () => {
    const { chat, model } = await startOllama(HELLO);
    await chat({ model: 'chat:mine' });
    expect(model.requests[0]!.lora).toBe('mine');
  });
});

describe('a prompt in the Ollama interface', () => {
  it('is a message, after a system message', async () => {
    const { generate, model } = await startOllama(HELLO);
    await generate({ system: 'Be kind.', template: '', suffix: '', context: [], images: [] });
    expect(model.requests[0]).toEqual({
      prompt: { messages: [{ role: 'system', content: 'Be kind.' }, USER] },
    });
  });

  it('raw, or of a model without a template, is a text', async () => {
    const { generate, model } = await startOllama(HELLO);
    await generate({ raw: true, options: { num_predict: 3 } });
    Object.assign(model, { info: { ...model.info, hasChatTemplate: false } });
    await generate();
    expect(model.requests).toEqual([{ prompt: { text: 'Hi' }, maxTokens: 3 }, { prompt: { text: 'Hi' } }]);
  });

  it('with a suffix is one to fill in, where the model can', async () => {
    const { generate, model } = await startOllama(HELLO);
    expect(await generate({ suffix: '}' })).toMatchObject({ status: 400 });
    model.tokenize = (text) => Promise.resolve(text.startsWith('<|fim_') ? [1] : [1, 2]);
    await generate({ suffix: '}' });
    expect(model.requests[0]!.prompt).toEqual({
      text: '<|fim_prefix|>Hi<|fim_suffix|>}<|fim_middle|>',
    });
  });
});

describe('fields of an Ollama request', () => {
  it('options reach the engine', async () => {
    const { chat, model } = await startOllama(HELLO);
    const options = {
      temperature: 0.5,
      top_k: 5,
      top_p: 0.9,
      min_p: 0.1,
      seed: 7,
      num_predict: 9,
      stop: ['END'],
      repeat_penalty: 1.1,
      frequency_penalty: 0.2,
      presence_penalty: 0.3,
    };
    await chat({ options });
    expect(model.requests[0]).toEqual({
      prompt: { messages: [USER] },
      temperature: 0.5,
      topK: 5,
      topP: 0.9,
      minP: 0.1,
      seed: 7,
      maxTokens: 9,
      stop: ['END'],
      repetitionPenalty: 1.1,
      frequencyPenalty: 0.2,
      presencePenalty: 0.3,
    });
  });

  it.each([
    [{ options: { num_predict: -1 } }],
    [{ options: { num_predict: -2, seed: -1 } }],
    [{ options: { temperature: null, typical_p: 1, mirostat: 0, repeat_last_n: 64 } }],
    [{ options: { num_ctx: 4096, num_gpu: 1 }, keep_alive: '5m', format: '' }],
    [{ options: {}, format: null, tools: [], think: null }],
  ])('%j asks for nothing', async (fields) => {
    const { chat, model } = await startOllama(HELLO, { strict: true });
    expect((await chat(fields)).status).toBe(200);
    expect(model.requests).toEqual([{ prompt: { messages: [USER] } }]);
  });

  it.each([
    ['json', { type: 'json_object' }],
    [schema, { type: 'json_schema', schema }],
  ])('format %j', async (format, constraint) => {
    const { chat, generate, model } = await startOllama(HELLO);
    await chat({ format });
    await generate({ format });
    expect(model.requests.map((request) => request.constraint)).toEqual([constraint, constraint]);
  });

  it.each([
    [false, { effort: 'none' }, undefined],
    [true, undefined, { thinking: true, enable_thinking: true }],
    ['low', { effort: 'low' }, { thinking: true, enable_thinking: true }],
    ['medium', { effort: 'medium' }, { thinking: true, enable_thinking: true }],
    ['high', { effort: 'high' }, { thinking: true, enable_thinking: true }],
  ])('think %j', async (think, reasoning, templateKwargs) => {
    const { chat, generate, model } = await startOllama(HELLO);
    await chat({ think });
    await generate({ think });
    const [first, second] = model.requests;
    expect(first!.reasoning).toEqual(reasoning);
    expect(first!.prompt).toEqual({ messages: [USER], ...(templateKwargs && { templateKwargs }) });
    expect(second).toEqual(first);
  });

  it('names nobody knows are listed, or refused where the server is strict', async () => {
    const unknown = {
      options: { top_a: 1, num_ctx: 9 },
      shape: 'round',
      messages: [{ ...USER, tone: 'dry' }],
    };
    const lenient = await startOllama(HELLO);
    const { headers } = await lenient.chat(unknown);
    expect(headers.get('x-svc-ignored')?.split(', ').toSorted()).toEqual([
      'messages.0.tone',
      'options.top_a',
      'shape',
    ]);
    const strict = await startOllama(HELLO, { strict: true });
    expect((await strict.chat(unknown)).status).toBe(400);
    expect((await strict.chat({ messages: unknown.messages })).status).toBe(400);
  });
});

describe('errors of the Ollama interface', () => {
  it.each([
    [{ model: null }, 'model is required'],
    [{ messages: [{ role: 'robot', content: 'a' }] }, 'messages.0.role must be one of'],
    [
      { messages: [{ ...USER, images: ['aGk='] }] },
      'messages.0.images.0 is an image, and fake-chat reads text only',
    ],
    [
      { messages: [{ role: 'assistant', tool_calls: [{ function: { name: 'f' } }] }] },
      'messages.0.tool_calls.0.function.arguments',
    ],
    [{ tools: [{ type: 'function', function: {} }] }, 'tools.0.function.name'],
    [{ format: 'yaml' }, 'format must be "json" or an object, got "yaml"'],
    [{ think: 'a lot' }, 'think must be one of low, medium, high or a boolean, got "a lot"'],
    [{ stream: 'no' }, 'stream must be'],
    [{ options: { temperature: 9 } }, 'options.temperature must be at most 2'],
    [{ options: { top_k: 'many' } }, 'options.top_k must be'],
    [{ options: { num_predict: 0 } }, 'options.num_predict must be at least 1'],
    [{ options: { mirostat: 2 } }, 'options.mirostat = 2'],
    [{ options: { repeat_last_n: 5 } }, 'options.repeat_last_n = 5'],
    [{ top_logprobs: 2 }, 'top_logprobs needs logprobs'],
  ])('%j, streaming and not', async (fields, message) => {
    const { chat, model } = await startOllama(HELLO);
    for (const stream of [false, true]) {
      const { status, body } = await chat({ stream, ...fields });
      expect([status, Object.keys(body)]).toEqual([400, ['error']]);
      expect(body.error).toContain(message);
    }
    expect(model.requests).toEqual([]);
  });

  it.each([
    [{ prompt: 3 }, 'prompt must be'],
    [{ images: ['aGk='] }, 'images.0 is an image, and'],
    [{ images: 'aGk=' }, 'images must be a list'],
    [{ raw: true, images: ['aGk='] }, 'images is for the chat template, and raw'],
    [{ template: '{{ .Prompt }}' }, 'template = '],
    [{ context: [1, 2] }, 'context = '],
    [{ raw: true, system: 'Be kind.' }, 'system is for the chat template, and raw'],
    [{ raw: true, think: true }, 'think is for the chat template, and raw'],
  ])('of a prompt: %j', async (fields, message) => {
    const { generate, model } = await startOllama(HELLO);
    const { status, body } = await generate(fields);
    expect([status, body.error]).toEqual([400, expect.stringContaining(message)]);
    expect(model.requests).toEqual([]);
  });

  it.each([
    ['a model that is not here', { model: 'none' }, {}, 404],
    ['one for embeddings', { model: 'vectors' }, {}, 400],
    ['no key', {}, { apiKey: 'k' }, 401],
  ])('%s', async (_, fields, options, status) => {
    const { chat } = await startOllama(HELLO, options);
    expect(await chat(fields)).toMatchObject({ status, body: { error: expect.any(String) as string } });
  });

  it('thoughts of a model that has none', async () => {
    const { chat, model } = await startOllama(HELLO);
    Object.assign(model, { info: { ...model.info, outputFormat: { tools: null, reasoning: null } } });
    expect(await chat({ think: true })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('think = true') as string },
    });
    expect((await chat({ think: false })).status).toBe(200);
  });

  it("the engine's come before the stream, under the names that were sent", async () => {
    const { chat } = await startOllama(() => {
      throw new EngineError('bad_request', 'constraint.schema.a is odd', { param: 'constraint.schema.a' });
    });
    const reply = await chat({ stream: true, format: schema });
    expect(reply).toMatchObject({ status: 400, body: { error: 'format.a is odd' } });
  });
});
