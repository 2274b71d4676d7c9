// The examples as programs: their types under strict settings, the agent in its own process, the route of Next.js as a function.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { SavedChat } from '../../src/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = (args: string[], input = '', cwd = root) =>
  spawnSync(process.execPath, args, { cwd, input, encoding: 'utf8', timeout: 120_000 });

it('the examples compile under strict TypeScript', () => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout, status } = run([tsc, '-p', 'scripts/tsconfig.examples.json']);
  expect([stdout, status]).toEqual(['', 0]);
});

it('the agent answers, and remembers the conversation in its next run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-agent-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'note.txt'), 'x');
  const agent = join(root, 'scripts/examples/library/agent.mjs');
  const counts = ['Hello!\n', 'What is the capital of France?\n'].map((question) => {
    const { status, stderr, stdout } = run([agent, '.'], question, folder);
    expect([status, stdout.length > 1], stderr).toEqual([0, true]);
    const { messages } = JSON.parse(readFileSync(join(folder, 'agent.json'), 'utf8')) as SavedChat;
    return messages.filter((message) => (message as { role: string }).role === 'user').length;
  });
  expect(counts).toEqual([1, 2]);
});

it('the route of Next.js streams what the model and its tool say', async () => {
  const route = '../../scripts/examples/next/app/api/chat/route.ts'; // its types are checked with the examples
  const { POST } = (await import(route)) as { POST(request: Request): Promise<Response> };
  const text = 'What is the weather in Paris?';
  const messages = [{ id: '1', role: 'user', parts: [{ type: 'text', text }] }];
  const request = new Request('http://localhost/api/chat', {
    method: 'POST',
    body: JSON.stringify({ messages }),
  });
  const response = await POST(request);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const events = (await response.text())
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as { type: string; output?: unknown });
  expect(events.find(({ type }) => type === 'tool-output-available')?.output).toEqual({
    weather: 'light rain',
  });
  expect(events.at(-1)).toMatchObject({ type: 'finish' });
});
