// /v1/responses on a fake model: requests and replies.

import { describe, expect, it } from 'vitest';
import { EVERYTHING, startResponding } from './response-harness.ts';

describe('a response', () => {
  it('of a text', async () => {
    const { post, model } = await startResponding();
    const { status, body } = await post({ input: 'Hi', instructions: 'Be kind.', metadata: { a: 'b' } });
    expect(status).toBe(200);
    expect(model.requests[0]!.prompt).toEqual({
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Hi' },
      ],
    });
    expect(body).toMatchObject({
      object: 'response',
      status: 'completed',
      error: null,
      incomplete_details: null,
      instructions: 'Be kind.',
      metadata: { a: 'b' },
      temperature: 0.4,
      output: [
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hello there', annotations: [], logprobs: [] }],
        },
      ],
      usage: {
        input_tokens: 7,
        input_tokens_details: { cached_tokens: 2 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 9,
      },
    });
    expect(body.id).toMatch(/^resp_/);
    expect(body.output[0]!.id).toMatch(/^msg_/);
  });

  it('of everything a model can say, in its order', async () => {
    const { post } = await startResponding(EVERYTHING);
    const { body } = await post({ input: 'Hi' });
    expect(body.output).toMatchObject([
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Let me see' }] },
      { type: 'message', content: [{ text: 'Well, then' }] },
      { type: 'function_call', call_id: 'call_0', name: 'look', arguments: '{"at":"sky"}' },
      { type: 'function_call', call_id: 'call_1', name: 'go', arguments: '{}' },
    ]);
  });

  it('that was cut short is incomplete', async () => {
    const { post } = await startResponding(() => [{ say: 'a' }, { end: 'length' }]);
    expect((await post({ input: 'Hi', max_output_tokens: 1 })).body).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      max_output_tokens: 1,
      output: [{ status: 'incomplete' }],
    });
  });

  it('has log probabilities where they are asked for', async () => {
    const { post, model } = await startResponding();
    const include = ['message.output_text.logprobs'];
    const { body } = await post({ input: 'Hi', include, top_logprobs: 1 });
    expect(model.requests[0]!.logprobs).toBe(1);
    const [part] = body.output[0]!['content'] as { logprobs: object[] }[];
    expect(part!.logprobs).toMatchObject([
      { token: 'Hello', logprob: -0.25, top_logprobs: [{ token: 'Hello' }] },
      { token: ' there' },
    ]);
  });

  it('of a conversation that is too long leaves its beginning out, where truncation says so', async () => {
    const { post, model } = await startResponding();
    const shortened = await post({ input: 'Hi', truncation: 'auto' });
    expect(shortened.body).toMatchObject({ truncation: 'auto' });
    expect((await post({ input: 'Hi', truncation: 'disabled' })).body).toMatchObject({
      truncation: 'disabled',
    });
    expect(model.requests.map(({ prompt }) => 'dropOldest' in prompt && prompt.dropOldest)).toEqual([
      true,
      false,
    ]);
  });

  it('needs the call that an output came of', async () => {
    const { post } = await startResponding();
    const call = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'c1', output: 'blue' };
    for (const input of [[output], [output, call], [call, { ...output, call_id: 'c2' }]]) {
      const { status, body } = await post({ input });
      expect([status, body.error]).toMatchObject([
        400,
        { param: expect.stringMatching(/^input\.[01]\.call_id$/) as string },
      ]);
    }
    const { body } = await post({ input: [call], store: true });
    expect((await post({ input: [output], previous_response_id: body.id })).status).toBe(200);
  });

  it('that fails is an error, with what it has; it is kept as that', async () => {
    const error = { code: 'device_lost' as const, message: 'gone' };
    const { post, ask } = await startResponding(() => [{ say: 'a' }, { end: 'abort', error }]);
    const { status, body } = await post({ input: 'Hi' });
    expect([status, body.error?.code]).toEqual([503, 'device_lost']);
    const failed = { status: 'failed', output: [{ status: 'incomplete', content: [{ text: 'a' }] }] };
    expect(body).toMatchObject(failed);
    expect((await ask(body.id)).body).toMatchObject({ ...failed, error });
  });
});

describe('the input of a response', () => {
  it('of items becomes a conversation', async () => {
    const { post, model } = await startResponding();
    await post({
      input: [
        { role: 'developer', content: 'Rules' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look' }] },
        { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I will' }] },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":1}' },
        { type: 'function_call', call_id: 'c2', name: 'look', arguments: '' },
        { type: 'function_call_output', call_id: 'c1', output: 'blue' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'grey' }] },
        { role: 'user', content: 'So?' },
      ],
    });
    const call = (id: string, given: string) => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: given },
    });
    expect(model.requests[0]!.prompt).toEqual({
      messages: [
        { role: 'developer', content: 'Rules' },
        { role: 'user', content: 'Look' },
        {
          role: 'assistant',
          content: 'I will',
          reasoning_content: 'Hm',
          tool_calls: [call('c1', '{"at":1}'), call('c2', '')],
        },
        { role: 'tool', content: 'blue', tool_call_id: 'c1' },
        { role: 'tool', content: 'grey', tool_call_id: 'c2' },
        { role: 'user', content: 'So?' },
      ],
    });
  });

  it.each([
    [{}, 'missing_required_parameter', 'input'],
    [{ input: [] }, 'invalid_value', 'input'],
    [{ input: [{ role: 'robot', content: 'a' }] }, 'invalid_value', 'input.0.role'],
    [{ input: [{ type: 'magic' }] }, 'unsupported', 'input.0.type'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
      'unsupported',
      'input.0.content.0.image_url',
    ],
    [
      { input: [{ type: 'function_call', call_id: 'a', name: 'f', arguments: {} }] },
      'invalid_type',
      'input.0.arguments',
    ],
    [{ input: 'a', previous_response_id: 'resp_gone' }, 'not_found', 'previous_response_id'],
    [{ input: [{ type: 'item_reference', id: 'msg_gone' }] }, 'not_found', 'input.0'],
    [{ input: 'a', tools: [{ type: 'file_search' }] }, 'unsupported', 'tools.0.type'],
    [{ input: 'a', tools: [{ type: 'function' }] }, 'missing_required_parameter', 'tools.0.name'],
    [
      { input: 'a', tools: [{ type: 'function', name: 'f', parameters: { type: 'string' } }] },
      'invalid_value',
      'tools.0.parameters.type',
    ],
    [{ input: 'a', tool_choice: 'required' }, 'invalid_value', 'tool_choice'],
    [
      { input: 'a', text: { format: { type: 'json_schema' } } },
      'missing_required_parameter',
      'text.format.schema',
    ],
    [{ input: 'a', top_logprobs: 3 }, 'invalid_value', 'top_logprobs'],
    [{ input: 'a', include: ['all'] }, 'invalid_value', 'include.0'],
    [{ input: 'a', background: true }, 'unsupported', 'background'],
    [{ input: 'a', max_output_tokens: 0 }, 'invalid_value', 'max_output_tokens'],
    [{ input: 'a', temperature: 3 }, 'invalid_value', 'temperature'],
  ])('%j is refused', async (fields, code, param) => {
    const { post, model } = await startResponding();
    const { body } = await post(fields);
    expect(body.error).toMatchObject({ code, param });
    expect(model.requests).toEqual([]);
  });

  it('members nobody knows are listed, or refused where the server is strict; what a reply has is known', async () => {
    const { post, url } = await startResponding(EVERYTHING);
    const before = (await post({ input: 'a' })).body.output;
    const strict = await startResponding(EVERYTHING, { strict: true });
    const input = [{ role: 'user', content: 'a' }, ...before, { role: 'user', content: 'b' }];
    expect((await strict.post({ input })).status).toBe(200);
    const body = {
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'a', tone: 'dry' }], mood: 'good' }],
      tools: [{ type: 'function', name: 'f', mode: 'slow' }],
      reasoning: { effort: 'low', pace: 'slow' },
    };
    const refused = await strict.post(body);
    expect(refused.body.error).toMatchObject({ code: 'unknown_parameter', param: 'input.0.content.0.tone' });
    const listed = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', ...body }),
    });
    expect(listed.headers.get('x-svc-ignored')?.split(', ').toSorted()).toEqual([
      'input.0.content.0.tone',
      'input.0.mood',
      'reasoning.pace',
      'tools.0.mode',
    ]);
  });

  it('fields reach the engine', async () => {
    const { post, model } = await startResponding();
    const parameters = { type: 'object', properties: {} };
    const { status } = await post({
      input: 'a',
      tools: [{ type: 'function', name: 'f', description: 'does', parameters, strict: true }],
      tool_choice: { type: 'function', name: 'f' },
      parallel_tool_calls: false,
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_schema', name: 'n', schema: parameters } },
      max_output_tokens: 9,
      seed: 1,
      top_k: 3,
    });
    expect(status).toBe(200);
    expect(model.requests[0]).toEqual({
      prompt: {
        messages: [{ role: 'user', content: 'a' }],
        tools: [{ type: 'function', function: { name: 'f', description: 'does', parameters, strict: true } }],
      },
      maxTokens: 9,
      seed: 1,
      topK: 3,
      toolChoice: { name: 'f' },
      parallelToolCalls: false,
      reasoning: { effort: 'low' },
      constraint: { type: 'json_schema', schema: parameters },
    });
  });

  it.each([
    [undefined, {}],
    [null, {}],
    [true, { strict: true }],
    [false, { strict: false }],
  ])('text.format.strict %s reaches the engine', async (strict, expected) => {
    const { post, model } = await startResponding();
    const schema = { type: 'object', properties: {} };
    const { status } = await post({
      input: 'a',
      text: { format: { type: 'json_schema', name: 'n', schema, strict } },
    });
    expect(status).toBe(200);
    expect(model.requests[0]!.constraint).toEqual({ type: 'json_schema', schema, ...expected });
  });
});
