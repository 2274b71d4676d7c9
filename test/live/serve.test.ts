// The whole program on the shipped model, through the `openai` client: interactions of requests, and shutdown.

import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI, { APIUserAbortError, BadRequestError, NotFoundError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { build, launch, serve, type ServedModel } from './process.ts';

type Request = OpenAI.ChatCompletionCreateParamsNonStreaming & Record<string, unknown>;

function ask(content: string, more: Record<string, unknown> = {}): Request {
  return { model: 'default', messages: [{ role: 'user', content }], max_tokens: 24, ...more };
}

const connect = (url: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0, timeout: 50_000 });

let served: ServedModel;
let client: OpenAI;
beforeAll(async () => {
  build();
  served = await serve([]);
  client = connect(served.url);
});
afterAll(async () => {
  served.child.kill('SIGKILL');
  await served.ended;
});

/** Returns the text and finish reason of each choice, for a stream and a plain reply. */
async function answers(request: Request, stream: boolean): Promise<string[]> {
  const said: string[] = Array<string>(request.n ?? 1).fill('');
  if (stream) {
    for await (const { choices } of await client.chat.completions.create({ ...request, stream: true }))
      for (const { index, delta, finish_reason } of choices)
        said[index] += (delta.content ?? '') + (finish_reason === null ? '' : ` [${finish_reason}]`);
  } else {
    const { choices } = await client.chat.completions.create(request);
    for (const { index, message, finish_reason } of choices)
      said[index] = `${message.content} [${finish_reason}]`;
  }
  return said;
}

describe('requests side by side', () => {
  const mixed: Request[] = [
    ask('What is the capital of France?', { temperature: 0 }),
    ask('Tell me a story.', { temperature: 0, stop: ['e', '.'] }),
    ask('Hello!', { temperature: 1, seed: 1, n: 3 }),
    ask('Hello!', { temperature: 1, seed: 2, max_tokens: 12 }),
    ask('Count from one to ten.', { temperature: 0.7, seed: 3, top_p: 0.5, min_p: 0.1, max_tokens: 12 }),
    ask('Say something.', { temperature: 2, seed: 4, top_k: 3, max_tokens: 12 }),
    ask('x'.repeat(900), { temperature: 0, max_tokens: 8 }),
    ask('What colour is the sky?', { temperature: 0, logit_bias: { 5: 50 }, max_tokens: 5 }),
    ask('Who are you?', { temperature: 0, ignore_eos: true, max_tokens: 20 }),
    ask('What is two and two?', { temperature: 0, stop_token_ids: [40, 41, 42] }),
  ];

  it('each says what it says alone, streamed or not', async () => {
    const alone: string[][] = [];
    for (const request of mixed) alone.push(await answers(request, false));
    const together = await Promise.all(mixed.map((request, i) => answers(request, i % 2 === 0)));
    expect(together).toEqual(alone);
    expect(alone[1]![0]).toMatch(/^[^e.]* \[stop\]$/);
    expect(new Set(alone[2]).size).toBeGreaterThan(1);
    expect(alone[8]![0]).toMatch(/\[length\]$/);
  });

  it('have a text of their own for another seed', async () => {
    const one = (seed: number) => answers(ask('Tell me a story.', { temperature: 1.5, seed }), true);
    const [a, b, c] = await Promise.all([one(11), one(11), one(12)]);
    expect(a).toEqual(b);
    expect(a).not.toEqual(c);
  });

  it('end at the context for max_tokens beyond it', async () => {
    const request = ask('Hello!', { temperature: 0, max_tokens: 1_000_000 });
    const { choices } = await client.chat.completions.create(request);
    expect(choices[0]!.finish_reason).toBe('stop');
  });
});

describe('the openai client', () => {
  it('aborts a stream, and the next request works', async () => {
    const controller = new AbortController();
    const stream = await client.chat.completions.create(
      { ...ask('Tell me a story.', { ignore_eos: true, max_tokens: 2000 }), stream: true },
      { signal: controller.signal },
    );
    let chunks = 0;
    for await (const _ of stream) if (++chunks === 3) controller.abort();
    expect(chunks).toBeLessThan(2000);
    const aborted = client.chat.completions.create(ask('Hi'), { signal: AbortSignal.abort() });
    await expect(aborted).rejects.toBeInstanceOf(APIUserAbortError);
    expect((await answers(ask('Hello!', { temperature: 0 }), true))[0]).not.toBe('');
  });

  it('reads usage at the end of a stream', async () => {
    const stream = await client.chat.completions.create({
      ...ask('Hello!', { ignore_eos: true, max_tokens: 7 }),
      stream: true,
      stream_options: { include_usage: true },
    });
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) usage = chunk.usage;
    expect(usage).toMatchObject({ completion_tokens: 7 });
  });

  it('reads errors', async () => {
    const refused = client.chat.completions.create(ask('Hi', { temperature: 3 }));
    await expect(refused).rejects.toBeInstanceOf(BadRequestError);
    await expect(refused).rejects.toMatchObject({ param: 'temperature' });
    const missing = client.chat.completions.create(ask('Hi', { model: 'no-such-model' }));
    await expect(missing).rejects.toBeInstanceOf(NotFoundError);
    await expect(missing).rejects.toThrow('svc-chat-mini');
  });

  it('lists the shipped models, and retrieves each as listed', async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual(['svc-chat-mini', 'svc-scenes-mini']);
    for (const model of data) expect(await client.models.retrieve(model.id)).toEqual(model);
  });
});

it('an idle model leaves the device, and has the same answers when it is back', async () => {
  const server = await serve(['--model-path', 'models/svc-chat-mini', '--sleep-idle-seconds', '0.5']);
  const asked = () =>
    connect(server.url).chat.completions.create(ask('What is the capital of France?', { temperature: 0 }));
  const running = async () =>
    ((await (await fetch(`${server.url}/api/ps`)).json()) as { models: unknown[] }).models.length;
  const { choices } = await asked();
  while (!server.log().includes('closed after 0.5 s without a request')) await sleep(20);
  expect(await running()).toBe(0);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  expect((await fetch(`${server.url}/metrics`)).status).toBe(200);
  expect(server.log()).not.toContain('open again');
  const stream = await connect(server.url).chat.completions.create({
    ...ask('What is the capital of France?', { temperature: 0 }),
    stream: true,
  });
  let said = '';
  for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? '';
  expect(said).toBe(choices[0]!.message.content);
  expect(server.log()).toMatch(/svc-chat-mini: open again after [\d.]+ s/);
  expect(await running()).toBe(1);
  server.child.kill('SIGTERM');
  expect(await server.ended).toEqual([0, null]);
});

describe('the end of the server', () => {
  it('SIGTERM lets a stream end, takes nothing new and exits with 0', async () => {
    const server = await serve([]);
    const stream = await connect(server.url).chat.completions.create({
      ...ask('Tell me a story.', { ignore_eos: true, max_tokens: 60 }),
      stream: true,
      stream_options: { include_usage: true },
    });
    let tokens = 0;
    let chunks = 0;
    for await (const { usage } of stream) {
      if (++chunks === 3) {
        server.child.kill('SIGTERM');
        await sleep(50);
        const late = await fetch(`${server.url}/v1/models`).then(
          ({ status }) => status,
          () => 'refused',
        );
        expect(['refused', 503]).toContain(late);
      }
      tokens = usage?.completion_tokens ?? tokens;
    }
    expect(tokens).toBe(60);
    expect(await server.ended).toEqual([0, null]);
  });

  it('a second SIGINT ends it at once, as SIGINT does what does not listen, whatever is being computed', async () => {
    const server = await serve([]);
    const stream = await connect(server.url).chat.completions.create({
      ...ask('Tell me a story.', { ignore_eos: true, max_tokens: 3000 }),
      stream: true,
    });
    const reading = (async () => {
      let chunks = 0;
      for await (const _ of stream) if (++chunks === 2) server.child.kill('SIGINT');
    })().catch(() => {});
    while (!server.log().includes('SIGINT')) await sleep(10);
    server.child.kill('SIGINT');
    expect(await server.ended).toEqual([null, 'SIGINT']);
    await reading;
  });

  it('SIGTERM while the model opens exits with 0, after 503 and Retry-After', async () => {
    const server = await launch([]);
    let reply: Response | null = null;
    while (!reply) reply = await fetch(`${server.url}/v1/models`).catch(() => null);
    expect(reply.status).toBe(503);
    expect(reply.headers.get('retry-after')).toBe('1');
    while (!/Loading|kernels/.test(server.log())) await sleep(5);
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual([0, null]);
  });
});
