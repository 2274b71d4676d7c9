// Requests of the Codex CLI, with models that it knows and with others.

import { request } from 'node:http';
import { expect, it } from 'vitest';
import { CODEX_REQUEST, CODEX_TOOLS, WEATHER, WEB_SEARCH } from './codex-request.ts';
import { startResponding } from './response-harness.ts';

const call = (id: string, name: string, given: object) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(given) },
});

it('requests of Codex have only known fields, which reach the model', async () => {
  const { post, model } = await startResponding(undefined, { strict: true });
  expect((await post(CODEX_REQUEST)).status).toBe(200);
  const { prompt } = model.requests[0]!;
  expect('messages' in prompt && prompt.messages).toEqual([
    { role: 'developer', content: 'You are a coding agent.' },
    { role: 'user', content: 'Patch it.' },
    {
      role: 'assistant',
      content: 'I will.',
      reasoning_content: 'Hm',
      tool_calls: [call('c1', 'apply_patch', { input: '*** Begin "Patch"' })],
    },
    { role: 'tool', content: 'Exit code: 0', tool_call_id: 'c1' },
    { role: 'assistant', content: '', tool_calls: [call('c2', 'tool_search', { query: 'weather' })] },
    { role: 'tool', content: 'Found: mcp__weather__get_weather', tool_call_id: 'c2' },
    {
      role: 'assistant',
      content: '',
      tool_calls: [call('c3', 'mcp__weather__get_weather', { cmd: 'Oslo' })],
    },
    { role: 'tool', content: 'Wall time: 0 seconds\nIt rains.', tool_call_id: 'c3' },
  ]);
  expect('tools' in prompt && prompt.tools?.map((tool) => tool.function.name)).toEqual([
    'exec_command',
    'apply_patch',
    'multi_agent_v1__close_agent',
    'multi_agent_v1__spawn_agent',
    'tool_search',
    'mcp__weather__get_weather',
  ]);
});

it('the web search of Codex is accepted, and no model is offered it', async () => {
  const { url, post, model, lines } = await startResponding();
  const body = { ...CODEX_REQUEST, tools: [...CODEX_TOOLS, WEB_SEARCH] };
  const send = () =>
    fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', ...body }),
    });
  const reply = await send();
  expect(reply.headers.get('x-svc-ignored')).toBe('tools.4');
  expect(((await reply.json()) as { tools: unknown }).tools).toEqual(CODEX_TOOLS);
  await (await send()).text();
  expect(JSON.stringify(model.requests)).not.toContain('web_search');
  expect(lines.filter((line) => line.includes('web_search'))).toEqual([
    expect.stringMatching(/^warn a client sends the tool web_search, .* not offered it \(said once\)$/),
  ]);
  expect(await (await fetch(`${url}/server_info`)).json()).toMatchObject({
    tools_not_offered: ['web_search'],
  });
  const wanted = { input: 'a', tools: [WEB_SEARCH], tool_choice: 'required' };
  expect((await post(wanted)).body.error).toMatchObject({ code: 'invalid_value', param: 'tool_choice' });
});

it('the web search of Codex is refused with the remedy if the server is strict', async () => {
  const { post } = await startResponding(undefined, { strict: true });
  const { body } = await post({ input: 'a', tools: [WEB_SEARCH] });
  expect(body.error).toMatchObject({
    code: 'unsupported',
    param: 'tools.0',
    message: expect.stringContaining('web_search = "disabled"'),
  });
});

it('the newest Codex sends its tools as an item, and agents speak to each other', async () => {
  const { post, model } = await startResponding(() => [
    { call: 'functions__exec', arguments: ['{"input":"text(1)"}'] },
    { end: 'tool_calls' },
  ]);
  const exec = {
    type: 'custom',
    name: 'exec',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: /[\\s\\S]+/' },
  };
  const input = [
    {
      type: 'additional_tools',
      id: 'at_1',
      role: 'developer',
      tools: [{ type: 'namespace', name: 'functions', description: '', tools: [exec] }, WEATHER],
    },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go.' }] },
    {
      type: 'agent_message',
      id: 'amsg_1',
      author: '/root',
      recipient: '/root/sub',
      content: [
        { type: 'input_text', text: 'Payload:\n' },
        { type: 'encrypted_content', encrypted_content: 'Say hi' },
      ],
    },
  ];
  const { body } = await post({ input });
  expect(body.output).toEqual([
    {
      id: expect.stringMatching(/^ctc_/),
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'call_0',
      name: 'exec',
      namespace: 'functions',
      input: 'text(1)',
    },
  ]);
  const { prompt } = model.requests[0]!;
  expect(prompt).toMatchObject({
    messages: [
      { role: 'user', content: 'Go.' },
      { role: 'user', content: 'Payload:\nSay hi' },
    ],
    tools: [
      { function: { name: 'functions__exec' } },
      {
        function: {
          name: 'mcp__weather__get_weather',
          description: 'mcp__weather: Ask for weather here.\n\nget_weather',
        },
      },
    ],
  });
});

it('Codex is sent to plain HTTP if it asks for a WebSocket', async () => {
  const { url } = await startResponding();
  const status = await new Promise((resolve, reject) => {
    const asked = request(`${url}/v1/responses`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'rUaqxvCoRjvrPpPUF+tavQ==',
      },
    });
    asked.on('response', (response) => {
      response.resume();
      resolve([response.statusCode, response.headers.upgrade]);
    });
    asked.on('error', reject);
    asked.end();
  });
  expect(status).toEqual([426, 'HTTP/1.1']);
});
