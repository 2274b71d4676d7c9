// Tools of /v1/responses other than plain functions: free-form tools, tools of namespaces, and a search that the client runs.

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/index.ts';
import { type Item, startResponding } from './response-harness.ts';
import { type Script, script } from '../scripted.ts';

const CUSTOM = { type: 'custom', name: 'run', description: 'Runs it.' };
const grammar = (syntax: string, definition: string) => ({
  ...CUSTOM,
  format: { type: 'grammar', syntax, definition },
});
const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const WEATHER = { type: 'function', name: 'look', description: 'Looks.', parameters, strict: true };
const TEXTUAL = { ...WEATHER, parameters: { type: 'string' } };
const NAMESPACE = { type: 'namespace', name: 'sky', description: 'The sky.', tools: [CUSTOM, WEATHER] };
/** Namespace with a tool of the same name. */
const OTHER = { type: 'namespace', name: 'sea', tools: [CUSTOM] };
const SEARCH = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters };

const calls =
  (...said: [name: string, ...parts: string[]][]): Script =>
  () => [
    ...said.map(([name, ...parts]) => ({ call: name, arguments: parts })),
    { end: 'tool_calls' as const },
  ];

/** The tools that the model is offered. */
async function offeredFor(body: object): Promise<unknown[]> {
  const { post, model } = await startResponding();
  const { status, body: reply } = await post({ input: 'a', ...body });
  expect([status, reply.error]).toEqual([200, null]);
  const { prompt } = model.requests[0]!;
  return (('tools' in prompt && prompt.tools) || []).map((tool) => tool.function);
}

const inputOnly = (input: object) => ({
  type: 'object',
  properties: { input },
  required: ['input'],
  additionalProperties: false,
});

describe('tools that a response offers the model', () => {
  it.each([
    [CUSTOM, { type: 'string' }],
    [{ ...CUSTOM, format: { type: 'text' } }, { type: 'string' }],
    [grammar('regex', 'a.|[.]\\.'), { type: 'string', pattern: '^(?:a[^\\n]|[.]\\.)$' }],
    [grammar('lark', 'start: "a" | "."'), { type: 'string', pattern: '^(?:(?:a|\\.))$' }],
  ])('are, for %j, a function with one string', async (tool, input) => {
    expect(await offeredFor({ tools: [tool] })).toEqual([
      { name: 'run', description: 'Runs it.', strict: true, parameters: inputOnly(input) },
    ]);
  });

  it('have the name of their namespace, and the first of them says what it is', async () => {
    const other = { type: 'namespace', name: 'sea', tools: [{ type: 'function', name: 'look' }] };
    expect(await offeredFor({ tools: [NAMESPACE, other, SEARCH] })).toEqual([
      {
        name: 'sky__run',
        description: 'sky: The sky.\n\nRuns it.',
        strict: true,
        parameters: inputOnly({ type: 'string' }),
      },
      { name: 'sky__look', description: 'Looks.', parameters, strict: true },
      { name: 'sea__look' },
      { name: 'tool_search', description: 'Finds tools.', parameters },
    ]);
  });

  it('are replaced by tools of the same name in the conversation', async () => {
    const newer = { ...WEATHER, description: 'Newer.', strict: false };
    const found = { type: 'tool_search_output', call_id: 'c', tools: [{ ...NAMESPACE, tools: [newer] }] };
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [newer, NAMESPACE] },
      { role: 'user', content: 'a' },
      { type: 'tool_search_call', call_id: 'c', arguments: '{}' },
      found,
      { type: 'tool_search_call', call_id: 'd', arguments: null },
      { ...found, call_id: 'd', tools: [] },
    ];
    const offered = await offeredFor({ input, tools: [WEATHER, { ...WEATHER, name: 'go' }] });
    expect(offered).toMatchObject([
      { name: 'go' },
      { name: 'look', description: 'Newer.' },
      { name: 'sky__run' },
      { name: 'sky__look', description: 'sky: The sky.\n\nNewer.' },
    ]);
  });

  it.each([
    [{ type: 'custom', name: 'run' }, 'run'],
    [{ type: 'function', name: 'look', namespace: 'sky' }, 'sky__look'],
    [{ type: 'function', name: 'look' }, 'sky__look'],
  ])('are chosen by tool_choice %j: %s', async (choice, name) => {
    const { post, model } = await startResponding();
    await post({ input: 'a', tools: [CUSTOM, NAMESPACE], tool_choice: choice });
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [choice] };
    await post({ input: 'a', tools: [CUSTOM, NAMESPACE], tool_choice: allowed });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      { name },
      { mode: 'auto', names: [name] },
    ]);
  });
});

describe('calls of a response', () => {
  const tools = [CUSTOM, NAMESPACE, SEARCH];
  const said = calls(
    ['run', '{"input": "a\\', 'n\\"b\\""}'],
    ['sky__run', '{"input":"c"}'],
    ['sky__look', '{"city":', '"Oslo"}'],
    ['tool_search', '{"city":"x"}'],
    ['unknown', '{}'],
  );
  const expected = [
    { type: 'custom_tool_call', call_id: 'call_0', name: 'run', input: 'a\n"b"' },
    { type: 'custom_tool_call', call_id: 'call_1', name: 'run', namespace: 'sky', input: 'c' },
    {
      type: 'function_call',
      call_id: 'call_2',
      name: 'look',
      namespace: 'sky',
      arguments: '{"city":"Oslo"}',
    },
    { type: 'tool_search_call', call_id: 'call_3', execution: 'client', arguments: { city: 'x' } },
    { type: 'function_call', call_id: 'call_4', name: 'unknown', arguments: '{}' },
  ].map((item) => ({ id: expect.stringMatching(/^(fc|ctc|tsc)_/), status: 'completed', ...item }));

  it('come as what the client sent', async () => {
    const { post } = await startResponding(said);
    const { body } = await post({ input: 'a', tools });
    expect(body.output).toEqual(expected);
    expect(body['tools']).toEqual(tools);
  });

  it('come so in a stream, with the text of a free-form one as it is', async () => {
    const { stream } = await startResponding(said);
    const events = await stream({ input: 'a', tools });
    expect(events.at(-1)!.response!.output).toEqual(expected);
    const of = (at: number) => events.filter((event) => event['output_index'] === at);
    const told = (at: number) => of(at).map(({ type }) => type.replace('response.', ''));
    const joined = (at: number) =>
      of(at)
        .map((event) => (event['delta'] as string | undefined) ?? '')
        .join('');
    const once = (list: string[]) => list.filter((name, at) => name !== list[at - 1]);
    expect(once(told(0))).toEqual([
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
    ]);
    expect(of(0)[0]!['item']).toMatchObject({ status: 'in_progress', name: 'run', input: '' });
    expect(joined(0)).toBe('a\n"b"');
    expect(of(0).at(-2)).toMatchObject({ input: 'a\n"b"', item_id: (of(0)[0]!['item'] as Item).id });
    expect(of(2).at(-2)).toMatchObject({ name: 'look', arguments: '{"city":"Oslo"}' });
    expect(told(3)).toEqual(['output_item.added', 'output_item.done']);
    expect(of(3)[0]!['item']).toMatchObject({ arguments: {} });
  });

  it.each([
    ['run', '{"input": "a\\nb', { input: 'a\nb' }],
    ['run', '{"inp', { input: '{"inp' }],
    ['tool_search', '{"city', { arguments: '{"city' }],
    ['look', '{"city"', { arguments: '{"city"' }],
  ])('%s cut short after %s is text, and in a stream what there is of it', async (name, json, there) => {
    for (const end of ['length', 'stop'] as const) {
      const { post, stream, model } = await startResponding();
      script(model, () => [{ call: name, arguments: [json] }, { end }]);
      const { body } = await post({ input: 'a', tools });
      const text = `{"name": "${name}", "arguments": ${json}`;
      expect(body.output).toMatchObject([{ type: 'message', content: [{ text }] }]);
      const events = await stream({ input: 'a', tools });
      const { item } = events.findLast(({ type }) => type === 'response.output_item.done')!;
      expect(item).toMatchObject({ status: 'incomplete', ...there });
    }
  });

  it('go back into the conversation under the names that the model knows', async () => {
    const { post, model } = await startResponding();
    const { body: first } = await post({ input: 'a', tools });
    script(model, said);
    const { body: second } = await post({ input: 'b', tools, previous_response_id: first.id });
    script(model, calls());
    const outputs = [
      { type: 'custom_tool_call_output', call_id: 'call_0', output: 'done' },
      { type: 'custom_tool_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'well' }] },
      { type: 'function_call_output', call_id: 'call_2', output: 'blue' },
      { type: 'tool_search_output', call_id: 'call_3', tools: [] },
      { type: 'function_call_output', call_id: 'call_4', output: 'none' },
    ];
    await post({ input: outputs, tools, previous_response_id: second.id });
    const { prompt } = model.requests.at(-1)!;
    const call = (at: number, name: string, given: string) => ({
      id: `call_${at}`,
      type: 'function',
      function: { name, arguments: given },
    });
    expect('messages' in prompt && prompt.messages?.slice(-6)).toEqual([
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          call(0, 'run', '{"input":"a\\n\\"b\\""}'),
          call(1, 'sky__run', '{"input":"c"}'),
          call(2, 'sky__look', '{"city":"Oslo"}'),
          call(3, 'tool_search', '{"city":"x"}'),
          call(4, 'unknown', '{}'),
        ],
      },
      ...['done', 'well', 'blue', 'No tools found.', 'none'].map((content, at) => ({
        role: 'tool',
        content,
        tool_call_id: `call_${at}`,
      })),
    ]);
  });

  it('are read by the openai client', async () => {
    const { url } = await startResponding(said);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
    const body = { model: 'default', input: 'a', tools: [{ ...CUSTOM, type: 'custom' as const }] };
    const response = await client.responses.create(body);
    expect(response.output[0]).toMatchObject({ type: 'custom_tool_call', input: 'a\n"b"' });
    const stream = client.responses.stream(body);
    let input = '';
    stream.on('response.custom_tool_call_input.delta', ({ delta }) => (input += delta));
    await stream.finalResponse();
    expect(input).toBe('a\n"b"');
  });
});

describe("refusals of a response's tools", () => {
  it.each([
    [[{ type: 'file_search' }], 'unsupported', 'tools.0.type'],
    [[{ type: 'custom' }], 'missing_required_parameter', 'tools.0.name'],
    [
      [{ ...CUSTOM, format: { type: 'grammar', syntax: 'abnf', definition: 'a' } }],
      'invalid_value',
      'tools.0.format.syntax',
    ],
    [
      [{ ...CUSTOM, format: { type: 'grammar', syntax: 'lark' } }],
      'missing_required_parameter',
      'tools.0.format.definition',
    ],
    [[grammar('regex', '(a')], 'invalid_value', 'tools.0.format.definition'],
    [[{ ...NAMESPACE, tools: [] }], 'invalid_value', 'tools.0.tools'],
    [[{ ...NAMESPACE, tools: [NAMESPACE] }], 'unsupported', 'tools.0.tools.0.type'],
    [
      [CUSTOM, { ...NAMESPACE, tools: [grammar('lark', 'start: x')] }],
      'unsupported',
      'tools.1.tools.0.format.definition',
    ],
    [[{ ...SEARCH, execution: 'server' }], 'invalid_value', 'tools.0.execution'],
    [[{ type: 'tool_search' }], 'missing_required_parameter', 'tools.0.execution'],
    [[CUSTOM, CUSTOM], 'invalid_value', 'tools'],
    [[NAMESPACE, { ...WEATHER, name: 'sky__look' }], 'invalid_value', 'tools'],
    [[{ ...NAMESPACE, tools: [TEXTUAL] }], 'invalid_value', 'tools.0.tools.0.parameters.type'],
  ])('%j', async (tools, code, param) => {
    const { post, model } = await startResponding();
    const { status, body } = await post({ input: 'a', tools });
    expect([status, body.error]).toEqual([400, expect.objectContaining({ code, param })]);
    expect(model.requests).toEqual([]);
  });

  it.each([
    [{ type: 'custom', name: 'go' }, 'invalid_value'],
    [{ type: 'function', name: 'run' }, 'invalid_value'],
    [{ type: 'custom', name: 'run', namespace: 'sun' }, 'invalid_value'],
    [{ type: 'web_search' }, 'invalid_value'],
  ])('tool_choice %j', async (choice, code) => {
    const { post } = await startResponding();
    const { body } = await post({ input: 'a', tools: [NAMESPACE, OTHER], tool_choice: choice });
    expect(body.error).toMatchObject({ code, param: expect.stringMatching(/^tool_choice/) });
  });

  it('an error of the engine about tools names the field that the client sent', async () => {
    const { post, model } = await startResponding();
    const refuse = (param: string) =>
      script(model, () => {
        throw new EngineError('bad_request', `${param} cannot be enforced`, { param });
      });
    const tools = [WEATHER, { ...NAMESPACE, tools: [grammar('regex', 'ab')] }];
    refuse('tools.1.function.parameters.properties.input.pattern');
    const param = 'tools.1.tools.0.format.definition';
    const message = `${param} cannot be enforced`;
    const refused = { code: 'invalid_value', param, message };
    expect((await post({ input: 'a', tools })).body.error).toMatchObject(refused);
    refuse('tools.0.function.parameters.properties.city');
    expect((await post({ input: 'a', tools })).body.error?.param).toBe('tools.0.parameters.properties.city');
    const input = [
      { type: 'additional_tools', tools: [WEATHER] },
      { role: 'user', content: 'a' },
    ];
    expect((await post({ input })).body.error?.param).toBe('input.0.tools.0.parameters.properties.city');
  });
});
