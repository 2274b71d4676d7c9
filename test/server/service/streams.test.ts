// Streams that outlive their connection.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { KeptStream } from '../../../src/server/http/kept-stream.ts';
import { startOnDemand } from '../catalog/demand-source.ts';
import { ask, eventually, type Harness, start } from '../harness.ts';

const HEADERS = { 'content-type': 'application/json', 'x-svc-resumable': '1' };

function begin({ url }: Harness, id: string, content: string, init: RequestInit = {}) {
  const headers = { ...HEADERS, 'x-request-id': id, ...(init.headers as Record<string, string>) };
  const body = JSON.stringify(ask(content, { stream: true }));
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', body, ...init, headers });
}

/** Numbers and texts of the events of a stream. */
function eventsOf(text: string): [number, string][] {
  return [...text.matchAll(/id: (\d+)\ndata: (.*)\n\n/g)].map(([, id, data]) => {
    const content = /"content":"(.*?)"/.exec(data!)?.[1];
    return [Number(id), content ?? (data === '[DONE]' ? data : 'end')];
  });
}

describe('the route /v1/streams/{id}', () => {
  it('has the events that a lost connection missed, and DELETE stops what still runs', async () => {
    const harness = await start();
    const { url, model } = harness;
    const gone = new AbortController();
    const response = await begin(harness, 'one', 'hang here', { signal: gone.signal });
    await response.body!.getReader().read();
    await eventually(() => model.running === 1, 'the request runs');
    gone.abort();
    const again = (await fetch(`${url}/v1/streams/one?after=1`)).body!.getReader();
    const { value } = await again.read();
    expect(eventsOf(new TextDecoder().decode(value))).toEqual([[2, 'hang']]);
    expect(model.running).toBe(1);
    const stopped = await fetch(`${url}/v1/streams/one`, { method: 'DELETE' });
    expect(await stopped.json()).toEqual({ id: 'one', object: 'stream', deleted: true });
    expect((await again.read()).done).toBe(true);
    await eventually(() => model.running === 0, 'the request is aborted');
    expect((await fetch(`${url}/v1/streams/one`)).status).toBe(404);
  });

  it('repeats a stream that has ended, from any event, and the error of one that did not begin', async () => {
    const harness = await start();
    const { url } = harness;
    const first = await (await begin(harness, 'two', 'a b')).text();
    expect(eventsOf(first)).toEqual([
      [1, ''],
      [2, 'a'],
      [3, ' b'],
      [4, 'end'],
      [5, '[DONE]'],
    ]);
    expect(await (await fetch(`${url}/v1/streams/two`)).text()).toBe(first);
    expect(eventsOf(await (await fetch(`${url}/v1/streams/two?after=4`)).text())).toEqual([[5, '[DONE]']]);
    expect((await fetch(`${url}/v1/streams/two?after=x`)).status).toBe(400);
    expect((await begin(harness, 'three', 'refuse overloaded')).status).toBe(429);
    expect(await (await fetch(`${url}/v1/streams/three`)).text()).toContain('refused with overloaded');
  });

  it('keeps its model open that is opened on demand, also without a connection', async () => {
    const { url, call, source, lines } = await startOnDemand({ keepAlive: 0 });
    const gone = new AbortController();
    const headers = {
      'content-type': 'application/json',
      'x-svc-resumable': '1',
      'x-request-id': 'one',
    };
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        model: 'other',
        stream: true,
        messages: [{ role: 'user', content: 'hang here' }],
      }),
      signal: gone.signal,
    });
    await response.body!.getReader().read();
    gone.abort();
    await expect.poll(() => lines.some((line) => line.includes('/v1/chat/completions'))).toBe(true);
    expect(source.happened).toEqual(['open other']);
    expect((await call('DELETE', '/v1/streams/one')).status).toBe(200);
    await expect.poll(() => source.happened).toEqual(['open other', 'close other']);
  });

  it('leaves replies that are no events to their connection', async () => {
    const { url, model } = await start();
    const chat = (content: string, signal?: AbortSignal) => {
      const body = JSON.stringify({ model: 'fake-chat', messages: [{ role: 'user', content }] });
      return fetch(`${url}/api/chat`, { method: 'POST', body, headers: HEADERS, ...(signal && { signal }) });
    };
    const lines = (await (await chat('wait 20 b')).text()).trim().split('\n');
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ done: true, done_reason: 'stop' });
    const gone = new AbortController();
    await chat('hang here', gone.signal);
    await eventually(() => model.running === 1, 'the request runs');
    gone.abort();
    await eventually(() => model.running === 0, 'the request is aborted');
  });

  it('belongs to the key that began it, and its id is taken while it runs', async () => {
    const harness = await start({ apiKey: 'a', adminApiKey: 'b' });
    const [own, other] = ['a', 'b'].map((key) => ({ headers: { authorization: `Bearer ${key}` } }));
    await begin(harness, 'four', 'hang here', own);
    const address = `${harness.url}/v1/streams/four`;
    expect((await fetch(address, other)).status).toBe(404);
    expect((await fetch(address, { method: 'DELETE', ...other })).status).toBe(404);
    const taken = await begin(harness, 'four', 'x', own);
    expect(await taken.json()).toMatchObject({ error: { param: 'x-request-id' } });
    expect((await fetch(address, { method: 'DELETE', ...own })).status).toBe(200);
  });
});

describe('a kept stream', () => {
  afterEach(() => void vi.useRealTimers());

  const never = new AbortController().signal;
  const keep = (mostBytes = 1000) => {
    let ends = 0;
    const onEnd = () => void (ends += 1);
    const stream = new KeptStream({ mostBytes, abandonedTime: 1000, client: never, onEnd });
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    void stream.follow(readable);
    const write = (text: string) => writer.write(new TextEncoder().encode(text));
    return { stream, write, close: () => writer.close(), ends: () => ends };
  };

  it('stops once nobody has read it for its time', () => {
    vi.useFakeTimers();
    const { stream, ends } = keep();
    const gone = new AbortController();
    stream.read(0, gone.signal);
    vi.advanceTimersByTime(5000);
    expect(stream.left.aborted).toBe(false);
    gone.abort();
    vi.advanceTimersByTime(999);
    expect(stream.left.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect([stream.left.aborted, ends()]).toEqual([true, 1]);
  });

  it('counts the client that asked as its reader until it begins', () => {
    vi.useFakeTimers();
    const client = new AbortController();
    const stream = new KeptStream({
      mostBytes: 100,
      abandonedTime: 1000,
      client: client.signal,
      onEnd() {},
    });
    vi.advanceTimersByTime(5000);
    expect(stream.left.aborted).toBe(false);
    client.abort();
    vi.advanceTimersByTime(1000);
    expect(stream.left.aborted).toBe(true);
  });

  it('drops its oldest events beyond its bytes, which ends a reader that waits for them', async () => {
    const { stream, write, close } = keep(100);
    await write('data: a\n\ndata: ');
    await write(`b\n\n: comment\n\ndata: ${'c'.repeat(90)}\n\n`);
    await close();
    expect([stream.has(1), stream.has(2)]).toEqual([false, true]);
    await expect(new Response(stream.read(0, never)).text()).rejects.toThrow('no longer kept');
    expect(await new Response(stream.read(2, never)).text()).toMatch(/^id: 3\ndata: c+\n\n$/);
  });
});
