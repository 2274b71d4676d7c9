// The server on the engine and the shipped model: tests that a fake model cannot make.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTextModel, shippedModelPath, type TextModel } from '../../src/index.ts';
import { type RunningServer, startServer } from '../../src/server/lifecycle.ts';
import { checkReplies } from './docs/checked-replies.ts';

let server: RunningServer;
let endChecks = (): void => {};
let model: TextModel;
let client: OpenAI;
let opening: Probes;

beforeAll(async () => {
  const log = { error: console.error, warn() {}, info() {}, debug() {} };
  server = await startServer({ host: '127.0.0.1', port: 0 }, log);
  endChecks = checkReplies(server.url);
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'unused', maxRetries: 0, timeout: 50_000 });
  const served = server.addModel();
  const opened = openTextModel({ model: shippedModelPath() }, (event) => served.progress(event));
  opening = await probeUntil(opened);
  model = await opened;
  served.ready(model);
});

afterAll(async () => {
  await server?.close();
  endChecks();
  await model?.close();
});

interface Probes {
  /** Milliseconds each call of /livez took. */
  calls: number[];
  /** Milliseconds by which an idle thread woke too late in the same period: the delay that the machine's other work causes. */
  lateness: number[];
}

const IDLE_THREAD = `
  const { parentPort } = require('node:worker_threads');
  const lateness = [];
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    lateness.push(Math.max(0, now - last - 5));
    last = now;
  }, 5);
  parentPort.once('message', () => parentPort.postMessage(lateness));
`;

/** Calls /livez every few milliseconds until something has settled. */
async function probeUntil(work: Promise<unknown>): Promise<Probes> {
  const idle = new Worker(IDLE_THREAD, { eval: true });
  const state = { working: true };
  const over = () => {
    state.working = false;
  };
  work.then(over, over);
  const calls: number[] = [];
  while (state.working) {
    const startedAt = performance.now();
    await (await fetch(`${server.url}/livez`)).text();
    calls.push(performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
  const lateness = once(idle, 'message') as Promise<[number[]]>;
  idle.postMessage('tell');
  const probes = { calls, lateness: (await lateness)[0] };
  await idle.terminate();
  return probes;
}

function percentile(times: number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(share * (times.length - 1))] ?? NaN;
}

/**
 * At most 20 ms at the 99th percentile, in addition to the delay with which the call's wake-ups (client, server, client) get a
 * core.
 */
function expectAwake({ calls, lateness }: Probes): void {
  expect(calls.length).toBeGreaterThan(20);
  expect(percentile(calls, 0.99)).toBeLessThan(20 + 3 * percentile(lateness, 0.99));
}

function ask(content: string, more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {}) {
  return { model: 'default', messages: [{ role: 'user' as const, content }], max_tokens: 16, ...more };
}

async function streamed(request: ReturnType<typeof ask>): Promise<{ text: string; finish: string | null }> {
  const stream = await client.chat.completions.create({ ...request, stream: true });
  let text = '';
  let finish: string | null = null;
  for await (const { choices } of stream) {
    text += choices[0]?.delta.content ?? '';
    finish = choices[0]?.finish_reason ?? finish;
  }
  return { text, finish };
}

it('the server answers while the model opens and while it reads a long prompt', async () => {
  expectAwake(opening);
  const long = client.chat.completions.create(
    ask('the cat sat on the mat and '.repeat(200), { max_tokens: 1 }),
  );
  const reading = await probeUntil(long);
  expect((await long).usage?.prompt_tokens).toBeGreaterThan(2000);
  expectAwake(reading);
});

it('the server gives 32 streams at once the text each has alone', async () => {
  const requests = Array.from({ length: 32 }, (_, at) =>
    ask(`Tell me about ${['cats', 'Paris', 'blue', 'seven'][at % 4]}, please. ${at}`, {
      seed: at,
      temperature: at % 2,
    }),
  );
  const together = await Promise.all(requests.map(streamed));
  expect(together.filter(({ finish }) => finish !== 'stop' && finish !== 'length')).toEqual([]);
  for (const at of [0, 1, 2, 3, 21, 31]) {
    const alone = await client.chat.completions.create(requests[at]!);
    expect(together[at]?.text).toBe(alone.choices[0]?.message.content);
  }
  const { steps, sharedSteps } = await model.metrics();
  expect(sharedSteps).toBeGreaterThan(0);
  expect(sharedSteps).toBeLessThanOrEqual(steps);
});

it('the server loses no slot and no page over 80 streams that are left', async () => {
  const before = await model.metrics();
  const leave = async (at: number) => {
    const stream = await client.chat.completions.create({
      ...ask(`Count as far as you can, from ${at}.`, { max_tokens: 500, n: 1 + (at % 2) }),
      stream: true,
    });
    let seen = 0;
    for await (const _ of stream) {
      seen += 1;
      if (seen > at % 5) break;
    }
  };
  for (let round = 0; round < 80; round += 40) {
    await Promise.all(Array.from({ length: 40 }, (_, at) => leave(round + at)));
  }
  await expect.poll(() => server.running(), { timeout: 10_000 }).toBe(0);
  const after = await model.metrics();
  expect(after).toMatchObject({ running: 0, waiting: 0, pages: { used: before.pages.used } });
  expect((await streamed(ask('hello'))).text).not.toBe('');
});

it('the server reports errors of the engine in the terms of the interface', async () => {
  const long = client.chat.completions.create(ask('hello '.repeat(9000)));
  await expect(long).rejects.toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
    param: 'messages',
  });
  const list = await client.models.list();
  expect(list.data[0]).toMatchObject({ id: 'svc-chat-mini', max_model_len: model.info.contextLength });
});
