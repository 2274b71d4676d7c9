// Tools of a server over HTTP, by the protocol's own client, in a conversation.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mcpTools } from '../../src/index.ts';
import { scriptedModel } from './scripted-model.ts';

const number = { type: 'number' };
const ADD = {
  name: 'add',
  description: 'Adds two numbers',
  inputSchema: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
};
const FAIL = { name: 'fail', inputSchema: { type: 'object' } };

interface Call {
  id?: number;
  method: string;
  params: { protocolVersion?: string; cursor?: string; name?: string; arguments?: { a: number; b: number } };
}

/** The answers of a server without sessions: the tools come on two pages. */
function answer({ method, params }: Call): object {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'sums', version: '1' },
    };
  if (method === 'tools/list') return params?.cursor ? { tools: [FAIL] } : { tools: [ADD], nextCursor: '2' };
  if (params.name === 'fail') return { content: [{ type: 'text', text: 'no luck' }], isError: true };
  const { a, b } = params.arguments!;
  return {
    content: [
      { type: 'text', text: String(a + b) },
      { type: 'image', data: '', mimeType: 'image/png' },
    ],
  };
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end();
  let body = '';
  for await (const piece of request) body += String(piece);
  const call = JSON.parse(body) as Call;
  if (call.id === undefined) return void response.writeHead(202).end();
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: call.id, result: answer(call) }));
}

const server = createServer((request, response) => void respond(request, response));
const client = new Client({ name: 'test', version: '1' });
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
});
afterAll(async () => {
  await client.close();
  server.closeAllConnections();
  server.close();
});

it('mcpTools() lists all pages, and calls run on the server', async () => {
  const tools = await mcpTools(client, { prefix: 'sums_' });
  expect(Object.keys(tools)).toEqual(['sums_add', 'sums_fail']);
  const calls = [
    { name: 'sums_add', arguments: '{"a":1,"b":2}' },
    { name: 'sums_add', arguments: '{"a":1}' },
    { name: 'sums_fail', arguments: '{}' },
  ];
  const model = scriptedModel([{ calls }, { text: '3' }]);
  const { toolCalls } = await model.chat({ tools }).send('1 + 2?');
  expect(toolCalls.map(({ result, isError }) => [isError, result])).toEqual([
    [false, '3\n[image left out]'],
    [true, 'the arguments do not fit: b is required'],
    [true, 'no luck'],
  ]);
  expect(model.requests[0]!.prompt).toMatchObject({
    tools: [
      { function: { name: 'sums_add', description: 'Adds two numbers', parameters: ADD.inputSchema } },
      {},
    ],
  });
});

it('mcpTools() takes the tools that are named, and refuses names that the server lacks', async () => {
  expect(Object.keys(await mcpTools(client, { names: ['add'] }))).toEqual(['add']);
  await expect(mcpTools(client, { names: ['sub'] })).rejects.toMatchObject({ code: 'bad_request' });
});
