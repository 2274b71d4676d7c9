// A kind of model that is registered by its own file: in a thread of Node, asleep, and over a route of the server. Its worker in a page is tested
// in test/browser/fourth-kind.test.ts.

import type { H3Event } from 'h3';
import { afterEach, expect, test, vi } from 'vitest';
import { openModel } from '../../src/host/node/open-model.ts';
import { MODEL_KINDS, type OpenEvent } from '../../src/index.ts';
import { type RunningServer, startServer } from '../../src/server/lifecycle.ts';
import { findModel } from '../../src/server/service/models.ts';
import type { Route } from '../../src/server/service/route.ts';
import { createFakeModel } from '../server/fake-model.ts';
import { ECHO, type EchoModel, type EchoOptions } from './fourth-kind.mjs';

async function wordsOf(model: EchoModel, text: string): Promise<string[]> {
  const words: string[] = [];
  for await (const { word } of model.generate({ text })) words.push(word);
  return words;
}

test.each([{ inline: false }, { inline: true }])(
  'a fourth kind of model is opened, called and closed in Node (%o)',
  async (place) => {
    const events: OpenEvent[] = [];
    const options: EchoOptions = { model: 'hills', ...place };
    const model = await openModel(ECHO, options, (event) => events.push(event));
    expect(model.info).toEqual({ kind: 'echo', name: 'hills', path: '/models/hills' });
    expect(events).toEqual([{ type: 'load', bytes: 1, totalBytes: 1 }]);
    expect(await wordsOf(model, 'who is there')).toEqual(['who', 'is', 'there']);
    expect(await model.heard()).toBe(3);
    await model.close();
    await expect(wordsOf(model, 'again')).rejects.toMatchObject({ code: 'cancelled' });
    await expect(openModel(ECHO, { model: 1 as never })).rejects.toThrow('model must be a text');
  },
);

test('a fourth kind of model sleeps in Node while it is idle, and is opened again', async () => {
  const model = await openModel(ECHO, { model: 'hills', sleepAfter: 20 });
  await vi.waitFor(() => expect(model.asleep).toBe(true));
  expect(await wordsOf(model, 'still there')).toEqual(['still', 'there']);
  expect(await model.heard()).toBe(2);
  await model.close();
});

const servers: RunningServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

const ROUTE: Route = {
  summary: 'Repeats the words of a text.',
  group: 'Text',
  async handle(service, { req }: H3Event) {
    const { model: name, text } = (await req.json()) as { model: string; text: string };
    return { words: await wordsOf(findModel(service, ECHO, name).model, text) };
  },
};

test('a fourth kind of model is served over its own route, and named if a request means another', async () => {
  const log = { error() {}, warn() {}, info() {}, debug() {} };
  const options = { host: '127.0.0.1', port: 0, drainTime: 100 };
  const server = await startServer(options, log, { '/v1/echo': { POST: ROUTE } });
  servers.push(server);
  const model = await openModel(ECHO, { model: 'hills', inline: true });
  server.addModel({ kind: ECHO }).ready(model);
  server.addModel({ kind: MODEL_KINDS.text, names: ['chat'] }).ready(createFakeModel());
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return response.json();
  };
  expect(await post('/v1/echo', { model: 'hills', text: 'who is there' })).toEqual({
    words: ['who', 'is', 'there'],
  });
  expect(await post('/v1/echo', { model: 'chat', text: '' })).toMatchObject({
    error: { message: 'chat is a chat model; send it to POST /v1/chat/completions' },
  });
  const messages = [{ role: 'user', content: 'hello' }];
  expect(await post('/v1/chat/completions', { model: 'hills', messages })).toMatchObject({
    error: { message: 'hills is an echo model; send it to POST /v1/echo' },
  });
  const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(['hills', 'chat']);
  const info = (await (await fetch(`${server.url}/server_info`)).json()) as { models: object[] };
  expect(info.models[0]).toMatchObject({ kind: 'echo', phase: 'ready', info: model.info });
  await model.close();
});
