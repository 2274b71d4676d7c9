// /v1/messages and /v1/messages/count_tokens on a fake model: conversations, replies, errors of that interface.

import { describe, expect, it } from 'vitest';
import { EVERYTHING, HELLO, startMessages } from './anthropic-harness.ts';

describe('a message of the Anthropic interface', () => {
  it('of a text', async () => {
    const { post, model } = await startMessages(HELLO);
    const { status, body } = await post({ messages: [{ role: 'user', content: 'Hi' }], system: 'Be kind.' });
    expect(status).toBe(200);
    expect(model.requests[0]).toEqual({
      prompt: {
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Hi' },
        ],
      },
      maxTokens: 50,
    });
    expect(body).toEqual({
      id: expect.stringMatching(/^msg_/) as string,
      type: 'message',
      role: 'assistant',
      model: 'default',
      content: [{ type: 'text', text: 'Hello there' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 2,
        output_tokens: 2,
      },
    });
  });

  it('of everything a model can say, in its order', async () => {
    const { post } = await startMessages(EVERYTHING);
    const { body } = await post({ messages: [{ role: 'user', content: 'Hi' }] });
    expect(body).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'Let me see', signature: '' },
        { type: 'text', text: 'Well, then' },
        { type: 'tool_use', id: 'call_0', name: 'look', input: { at: 'sky' } },
        { type: 'tool_use', id: 'call_1', name: 'go', input: {} },
      ],
    });
  });

  it.each([
    ['length', null, 'max_tokens', null],
    ['stop', 2, 'end_turn', null],
    ['stop', 'END', 'stop_sequence', 'END'],
  ] as const)('that ends by %s at %s: %s', async (end, matchedStop, reason, sequence) => {
    const { post, model } = await startMessages(HELLO);
    model.generate = async function* () {
      yield { type: 'accepted', promptTokens: 1, maxTokens: 9 };
      yield { type: 'done', choice: 0, finishReason: end, matchedStop, completionTokens: 0 };
    };
    const { body } = await post({ messages: [{ role: 'user', content: 'Hi' }], stop_sequences: ['END'] });
    expect(body).toMatchObject({ stop_reason: reason, stop_sequence: sequence, content: [] });
  });
});

describe('a conversation in the Anthropic interface', () => {
  const blocks = [
    { role: 'user', content: [{ type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'x' },
        { type: 'redacted_thinking', data: 'x' },
        { type: 'text', text: 'I will' },
        { type: 'tool_use', id: 't1', name: 'look', input: { at: 1 } },
        { type: 'tool_use', id: 't2', name: 'look', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't1', content: 'blue' },
        { type: 'tool_result', tool_use_id: 't2', content: [{ type: 'text', text: 'fog' }], is_error: true },
        { type: 'text', text: 'So?' },
      ],
    },
  ];

  it('of blocks becomes one of messages', async () => {
    const { post, model } = await startMessages(HELLO);
    const { status } = await post({ messages: blocks });
    expect(status).toBe(200);
    const call = (id: string, given: object) => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: given },
    });
    expect(model.requests[0]!.prompt).toEqual({
      messages: [
        { role: 'user', content: 'Look' },
        {
          role: 'assistant',
          content: 'I will',
          reasoning_content: 'Hm',
          tool_calls: [call('t1', { at: 1 }), call('t2', {})],
        },
        { role: 'tool', content: 'blue', tool_call_id: 't1' },
        { role: 'tool', content: 'Error: fog', tool_call_id: 't2' },
        { role: 'user', content: 'So?' },
      ],
    });
  });

  it('that ends with a beginning of the reply is gone on with', async () => {
    const { post, model } = await startMessages(HELLO);
    await post({
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Well' },
      ],
    });
    expect(model.requests[0]!.prompt).toMatchObject({ continueFinal: true });
  });

  it('counts as many tokens as the model reads', async () => {
    const { ask, model } = await startMessages(HELLO);
    const { body } = await ask('/v1/messages/count_tokens', {
      model: 'default',
      messages: blocks,
      system: 'S',
    });
    const { ids } = await model.renderPrompt({
      messages: [{ role: 'user', content: 'x' }],
    });
    expect(body['input_tokens']).toBeGreaterThan(ids.length);
  });
});

describe('fields of a message request', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const tools = [{ name: 'f', description: 'does', input_schema: schema }];

  it('reach the engine', async () => {
    const { post, model } = await startMessages(HELLO);
    const { status } = await post({
      messages: [{ role: 'user', content: 'Hi' }],
      tools,
      tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 40 },
      stop_sequences: ['END'],
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      metadata: { user_id: 'me' },
    });
    expect(status).toBe(200);
    expect(model.requests[0]).toEqual({
      prompt: {
        messages: [{ role: 'user', content: 'Hi' }],
        tools: [{ type: 'function', function: { name: 'f', description: 'does', parameters: schema } }],
        templateKwargs: { thinking: true, enable_thinking: true },
      },
      maxTokens: 50,
      stop: ['END'],
      temperature: 0.5,
      topP: 0.9,
      topK: 5,
      toolChoice: { name: 'f' },
      parallelToolCalls: false,
      reasoning: { budget: 40 },
    });
  });

  it.each([
    [{ type: 'any' }, { toolChoice: 'required' }],
    [{ type: 'none' }, { toolChoice: 'none' }],
    [{ type: 'auto', disable_parallel_tool_use: true }, { parallelToolCalls: false }],
  ])('tool_choice %j', async (choice, wanted) => {
    const { post, model } = await startMessages(HELLO);
    await post({ messages: [{ role: 'user', content: 'Hi' }], tools, tool_choice: choice });
    expect(model.requests[0]).toMatchObject(wanted);
  });

  it.each([
    [{ output_config: { format: { type: 'json_schema', schema } } }],
    [{ output_format: { type: 'json_schema', schema } }],
  ])('%j', async (fields) => {
    const { post, model } = await startMessages(HELLO);
    await post({ messages: [{ role: 'user', content: 'Hi' }], ...fields });
    expect(model.requests[0]!.constraint).toEqual({ type: 'json_schema', schema });
  });

  it('a strict tool is a strict one', async () => {
    const { post, model } = await startMessages(HELLO, { strict: true });
    const [tool] = tools;
    await post({ messages: [{ role: 'user', content: 'Hi' }], tools: [{ ...tool, strict: true }] });
    expect(model.requests[0]!.prompt).toMatchObject({ tools: [{ function: { name: 'f', strict: true } }] });
  });

  it('members nobody knows are listed, or refused where the server is strict; those without effect are known', async () => {
    const cached = { cache_control: { type: 'ephemeral' } };
    const known = {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'a', citations: [], ...cached }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 'x' },
            { type: 'redacted_thinking', data: 'x' },
            { type: 'tool_use', id: 't', name: 'f', input: { any: 1 }, ...cached },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'b', ...cached }] },
      ],
      system: [{ type: 'text', text: 'S', ...cached }],
      tools: [{ ...tools[0], ...cached }],
    };
    const lenient = await startMessages(HELLO);
    const strict = await startMessages(HELLO, { strict: true });
    const send = (to: typeof lenient, more: object) =>
      to.send('/v1/messages', { model: 'default', max_tokens: 5, ...known, ...more });
    expect((await send(strict, {})).status).toBe(200);
    const unknown = {
      system: [{ type: 'text', text: 'S', tone: 'dry' }],
      tools: [{ ...tools[0], defer_loading: true }],
      thinking: { type: 'adaptive', display: 'omitted' },
    };
    expect((await send(lenient, unknown)).headers.get('x-svc-ignored')?.split(', ').toSorted()).toEqual([
      'system.0.tone',
      'thinking.display',
      'tools.0.defer_loading',
    ]);
    expect((await send(strict, unknown)).status).toBe(400);
  });

  it('effort, and no thinking', async () => {
    const { post, model } = await startMessages(HELLO);
    const messages = [{ role: 'user', content: 'Hi' }];
    await post({ messages, output_config: { effort: 'low' } });
    await post({ messages, thinking: { type: 'disabled' } });
    expect(model.requests.map(({ reasoning }) => reasoning)).toEqual([{ effort: 'low' }, { effort: 'none' }]);
  });
});

describe('errors of the Anthropic interface', () => {
  const messages = [{ role: 'user', content: 'Hi' }];

  it.each([
    [{}, 'messages is required'],
    [{ messages, max_tokens: null }, 'max_tokens is required'],
    [{ messages: [] }, 'messages must have at least 1'],
    [{ messages: [{ role: 'tool', content: 'a' }] }, 'messages.0.role must be one of'],
    [
      { messages: [{ role: 'user', content: [{ type: 'document', source: {} }] }] },
      'messages.0.content.0.document is not read here',
    ],
    [
      { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f' }] }] },
      'messages.0.content.0.input is required',
    ],
    [{ messages, tools: [{ type: 'web_search_20250305', name: 'w' }] }, 'tools.0.type must be "custom"'],
    [{ messages, tools: [{ name: 'w' }] }, 'tools.0.input_schema is required'],
    [{ messages, tool_choice: { type: 'tool' } }, 'tool_choice.name is required'],
    [{ messages, tool_choice: { type: 'any' } }, 'tool_choice asks for a call and needs tools; send'],
    [{ messages, max_tokens: 0 }, 'max_tokens must be at least 1'],
    [
      { messages, thinking: { type: 'enabled', budget_tokens: 0 } },
      'thinking.budget_tokens must be at least 1',
    ],
    [{ messages, mcp_servers: [{}] }, 'mcp_servers'],
  ])('%j', async (fields, message) => {
    const { post, model } = await startMessages(HELLO);
    const { status, body } = await post(fields);
    expect([status, body.type, body.error?.type]).toEqual([400, 'error', 'invalid_request_error']);
    expect(body.error?.message).toContain(message);
    expect(model.requests).toEqual([]);
  });

  it.each([
    ['model', { messages, model: 'none' }, {}, 404, 'not_found_error'],
    ['key', { messages }, { apiKey: 'k' }, 401, 'authentication_error'],
  ])('of the %s', async (_, fields, options, status, type) => {
    const { post } = await startMessages(HELLO, options);
    expect(await post(fields)).toMatchObject({ status, body: { type: 'error', error: { type } } });
  });

  it('of the engine', async () => {
    const error = { code: 'device_lost' as const, message: 'gone' };
    const { post } = await startMessages(() => [{ say: 'a' }, { end: 'abort', error }]);
    expect(await post({ messages })).toMatchObject({
      status: 503,
      body: { error: { type: 'overloaded_error', message: 'gone' } },
    });
  });
});
