// Tools of MCP servers in the view of chat.

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { afterEachTest } from '../hooks.ts';
import { start } from '../server/harness.ts';
import { script, type Script } from '../server/scripted.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();
const closing: (() => void)[] = [];
afterEachTest(() => closing.splice(0).forEach((close) => close()));

interface Rpc {
  id?: number;
  method: string;
  params: { name?: string; arguments?: { a: number; b: number } };
}

const TOOL = {
  name: 'add',
  description: 'Adds numbers.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
};

function resultOf({ method, params }: Rpc): object {
  if (method === 'initialize') return { protocolVersion: '2025-03-26', capabilities: { tools: {} } };
  if (method === 'tools/list') return { tools: [TOOL] };
  const { a, b } = params.arguments!;
  return { content: [{ type: 'text', text: `sum ${a + b}` }] };
}

/** An MCP server that answers calls of tools by events and the rest by JSON; `asked`: its calls, with session and version. */
async function startTools(): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const answer = async (request: IncomingMessage): Promise<[number, string, string]> => {
    const { headers } = request;
    if (headers.authorization !== 'Bearer secret') return [401, 'text/plain', ''];
    const rpc = JSON.parse(await text(request)) as Rpc;
    if (rpc.params?.arguments?.a === 0) await new Promise((resolve) => request.socket.on('close', resolve));
    asked.push(
      [rpc.method, headers['mcp-session-id'], headers['mcp-protocol-version']].filter(Boolean).join(' '),
    );
    if (rpc.id === undefined) return [202, 'text/plain', ''];
    const reply = JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: resultOf(rpc) });
    if (rpc.method !== 'tools/call') return [200, 'application/json', reply];
    const note = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress' });
    return [200, 'text/event-stream', `event: message\ndata: ${note}\n\nevent: message\ndata: ${reply}\n\n`];
  };
  const server = createServer((request, response) => {
    const allowed = {
      'access-control-allow-origin': '*',
      'access-control-allow-headers': '*, authorization',
      'access-control-expose-headers': 'mcp-session-id',
    };
    if (request.method === 'OPTIONS') return void response.writeHead(204, allowed).end();
    void answer(request).then(([status, type, body]) =>
      response.writeHead(status, { ...allowed, 'content-type': type, 'mcp-session-id': 's1' }).end(body),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, asked };
}

type Said = ReturnType<Script>;

/** What the model calls: a tool that never answers, one twice, or one once. */
function callsFor(words: unknown): Said {
  const add = (a: number): Said[number] => ({ call: 'add', arguments: [`{"a":${a},`, '"b":2}'] });
  const calls = words === 'hang' ? [add(0)] : words === 'again' ? [add(5), add(1)] : [add(1)];
  return [...calls, { end: 'tool_calls' }];
}

web.test(
  'tools of an MCP server are offered, confirmed, called, and their results go to the model',
  async () => {
    const { url, model } = await start();
    const tools = await startTools();
    script(model, ({ prompt }) => {
      const last = 'messages' in prompt ? prompt.messages.at(-1)! : null;
      const end = (reason: 'stop' | 'tool_calls') => ({ end: reason });
      return last?.role === 'tool'
        ? [{ say: `It says ${JSON.stringify(last.content)}.` }, end('stop')]
        : callsFor(last?.content);
    });
    const page = await web.open(url);
    await page.getByRole('button', { name: 'Tools' }).click();
    const dialog = page.getByRole('dialog', { name: 'Tools' });
    web.allow(/401/);
    await dialog.getByLabel('Address').fill(tools.url);
    await page.keyboard.press('Enter');
    await dialog.getByText('answered 401; enter the token').waitFor();
    await dialog.getByLabel('Address').fill(tools.url);
    await dialog.getByLabel('Token').fill('secret');
    await page.keyboard.press('Enter');
    await dialog.getByText('Adds numbers.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();

    const say = async (words: string) => {
      await page.getByLabel('Message', { exact: true }).fill(words);
      await page.keyboard.press('Enter');
    };
    const replies = page.getByRole('article', { name: /^Reply/ });
    await say('add them');
    await page.getByRole('button', { name: 'Refuse' }).click();
    await replies.last().getByText('It says "The user refused this call."').waitFor();
    await say('again');
    await page.getByRole('button', { name: 'Always call this tool' }).click();
    await replies.last().getByText('It says "sum 3".').waitFor();
    await say('and again');
    await replies.nth(5).getByText('It says "sum 3".').waitFor();
    expect(model.requests[0]).toMatchObject({ prompt: { tools: [{ function: { name: 'add' } }] } });
    expect(tools.asked).toEqual([
      'initialize',
      'notifications/initialized s1 2025-03-26',
      'tools/list s1 2025-03-26',
      'tools/call s1 2025-03-26',
      'tools/call s1 2025-03-26',
      'tools/call s1 2025-03-26',
    ]);

    // A call that waits when the page is loaded anew can be answered then.
    await page.getByRole('button', { name: 'Tools' }).click();
    await page.getByRole('button', { name: 'Confirm calls of add again' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    await say('once more');
    await page.getByRole('button', { name: 'Call it' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Answer the calls' }).click();
    await page.getByRole('button', { name: 'Call it' }).click();
    await replies.nth(7).getByText('It says "sum 3".').waitFor();

    await say('hang');
    await page.getByRole('button', { name: 'Call it' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Answer the calls' }).waitFor();
  },
);
