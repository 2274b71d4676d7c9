import { spawn } from 'node:child_process';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startServer } from '../../src/server/lifecycle.ts';
import { createFakeModel } from './fake-model.ts';
import { ask, eventually, readChunks, start } from './harness.ts';
import { nodeArgs } from '../started.ts';

describe('a server whose model loads', () => {
  it('answers 503 with what it is doing, then serves', async () => {
    const { served, url, post } = await start({}, { ready: false });
    served.progress({ type: 'warmup', done: 12, total: 28 });
    const early = await post(ask('hi'));
    expect(early.status).toBe(503);
    expect(early.headers.get('retry-after')).toBe('1');
    expect(await early.json()).toMatchObject({
      error: { code: 'starting', message: expect.stringContaining('12 of 28') },
    });
    for (const path of ['/readyz', '/health', '/v1/models']) {
      const response = await fetch(url + path);
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('1');
    }
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({
      status: 'starting',
      progress: { type: 'warmup', done: 12, total: 28 },
    });
    expect((await fetch(`${url}/livez`)).status).toBe(200);

    served.ready(createFakeModel());
    expect((await post(ask('hi'))).status).toBe(200);
    expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: 'ready', models: ['fake-chat'] });
  });
});

describe('a server that stops', () => {
  it('ends running requests, refuses new ones, and lets go of idle connections', async () => {
    const { server, model, post, url } = await start({ drainTime: 300_000 });
    await (await fetch(`${url}/livez`)).text();
    const running = await post(ask('hold', { stream: true }));
    const closed = server.close();
    // The port stays open until running requests have ended, so that new requests get an error.
    for (const answer of [await post(ask('hi')), await post(ask('hi', { stream: true }))]) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await answer.json()).toMatchObject({ error: { code: 'stopping', type: 'server_error' } });
    }
    for (const path of ['/health', '/readyz']) {
      const answer = await fetch(url + path);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await answer.json()).toEqual({ status: 'stopping' });
    }
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    model.release();
    expect(readChunks(await running.text()).at(-1)?.choices[0]?.finish_reason).toBe('stop');
    await closed; // long before the drain time
    await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed');
  });

  it('still takes requests for the drain delay, while its probes say that it stops', async () => {
    const { server, model, post, url } = await start({ drainDelay: 5000, drainTime: 300_000 });
    const closed = server.close();
    for (const path of ['/health', '/readyz']) {
      const answer = await fetch(url + path);
      expect([answer.status, await answer.json()]).toEqual([503, { status: 'stopping' }]);
    }
    expect(await (await fetch(`${url}/server_info`)).json()).toMatchObject({
      status: 'stopping',
      settings: { drainDelay: 5000, drainTime: 300_000 },
    });
    const running = [post(ask('hold')), post(ask('hold', { stream: true }))];
    await eventually(() => model.running === 2, 'both run');
    await vi.waitFor(async () => expect((await post(ask('hi'))).status).toBe(503), { timeout: 60_000 });
    model.release();
    const answers = await Promise.all(running);
    expect(await answers[0]!.json()).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    expect(readChunks(await answers[1]!.text()).at(-1)?.choices[0]?.finish_reason).toBe('stop');
    await closed;
    await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed');
  });

  it('does not wait for the drain delay before a model is ready', async () => {
    const { server } = await start({ drainDelay: 60_000 }, { ready: false });
    await server.close();
  });

  it('aborts what runs after the drain time', async () => {
    const { server, post, model, lines } = await start({ drainTime: 100 });
    const streamed = await post(ask('hang here', { stream: true }));
    const plain = post(ask('hang here'));
    await eventually(() => model.running === 2, 'both run');
    await server.close();
    const chunks = readChunks(await streamed.text());
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('abort');
    expect(chunks.at(-1)?.error?.code).toBe('stopping');
    const cutShort = await plain;
    expect([cutShort.status, cutShort.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await cutShort.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ finish_reason: 'abort', message: { role: 'assistant', content: 'hang' } }],
      usage: { completion_tokens: 1 },
      error: { code: 'stopping', type: 'server_error' },
    });
    expect(model.running).toBe(0);
    const cut = lines.filter((line) => line.includes('stopping ended by the shutdown · '));
    expect(new Set(cut.map((line) => / (200|503) /.exec(line)?.[1]))).toEqual(new Set(['200', '503']));
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('drains on %s', async (signal) => {
    const script = new URL('serve-fake.ts', import.meta.url);
    const child = spawn(process.execPath, nodeArgs(script), {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const url = await new Promise<string>((resolve) =>
      child.stdout.once('data', (data) => resolve(String(data).trim())),
    );
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ask('wait 300', { stream: true })),
    });
    child.kill(signal);
    expect(readChunks(await response.text()).at(-1)?.choices[0]?.finish_reason).toBe('stop');
    expect(await exited).toBe(signal === 'SIGTERM' ? 0 : 130);
  });
});

it('the server leaves closing an idle connection to clients', async () => {
  const { url } = await start();
  const { headers } = await fetch(`${url}/livez`);
  expect(headers.get('keep-alive')).toBe('timeout=75');
});

it('the error of a taken port names --port', async () => {
  const { url } = await start();
  const log = { error() {}, warn() {}, info() {}, debug() {} };
  const second = startServer({ host: '127.0.0.1', port: Number(new URL(url).port) }, log);
  await expect(second).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('--port'),
  });
});
