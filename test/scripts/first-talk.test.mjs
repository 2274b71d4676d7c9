// What npm start says to a server: which models it uses, that the picture drawn is the one described, and what it prints.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { FirstTalk } from '../../scripts/first-talk.mjs';

const PICTURE = Buffer.from('a picture');
const folder = mkdtempSync(join(tmpdir(), 'svc-talk-'));
let server;
let base;
/** Models that are served, the text of the answer about a picture, and the requests. */
let models;
let sight;
let asked;

beforeAll(async () => {
  server = createServer((request, reply) => void answer(request, reply));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${server.address().port}`;
});
async function answer(request, reply) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : null;
  if (request.url === '/v1/models') return reply.end(JSON.stringify({ data: models }));
  asked.push({ url: request.url, body, key: request.headers.authorization });
  if (request.url === '/v1/images/generations')
    return reply.end(JSON.stringify({ data: [{ b64_json: PICTURE.toString('base64') }] }));
  const text = Array.isArray(body.messages.at(-1).content) ? sight : `answer ${body.messages.length}`;
  for (const [content, finish_reason] of [[text.slice(0, 3)], [text.slice(3), 'stop']])
    reply.write(`data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason }] })}\n\n`);
  return reply.end('data: [DONE]\n\n');
}

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  asked = [];
  sight = 'A red balloon.';
});

async function talk() {
  let printed = '';
  await new FirstTalk(base, { key: 'k', print: (text) => (printed += text), folder }).run();
  return printed;
}

const CHATS = { id: 'blind', modalities: ['text'] };
const SEES = { id: 'seeing', modalities: ['text', 'image'] };
const DRAWS = { id: 'drawing', pipeline: 'X' };

test('first-talk asks three questions, has an image drawn, and prints its description', async () => {
  models = [CHATS, SEES, DRAWS];
  const printed = await talk();
  expect(printed).toMatch(/> What is my name\?\nanswer 5\n/);
  expect(printed).toMatch(/> \[the picture\] What do you see in this picture\?\nA red balloon\.\n$/);
  expect(asked.map(({ url }) => url.split('/').at(-1))).toEqual([
    ...Array(3).fill('completions'),
    'generations',
    'completions',
  ]);
  expect(asked.every(({ key }) => key === 'Bearer k')).toBe(true);
  const { model, temperature, messages } = asked.at(-1).body;
  expect([model, temperature]).toEqual(['seeing', 0]);
  expect(messages[0].content[0].image_url.url).toBe(`data:image/png;base64,${PICTURE.toString('base64')}`);
  const path = printed.match(/^(.*generated_image_0\.png) \(/m)[1];
  expect(readFileSync(path)).toEqual(PICTURE);
});

test('first-talk draws without a model that reads images, and skips the image without one that draws', async () => {
  models = [CHATS, DRAWS];
  expect(await talk()).not.toContain('[the picture]');
  expect(existsSync(join(folder, 'generated_image_1.png'))).toBe(true);
  models = [CHATS, SEES];
  expect(await talk()).not.toContain('Draw');
});

test('an empty description in first-talk is an error', async () => {
  models = [SEES, DRAWS];
  sight = '   ';
  await expect(talk()).rejects.toThrow('empty answer');
});
