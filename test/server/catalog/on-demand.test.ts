// Four models in a budget for two: opened at their first requests, closed by last use, failing alone, pinned.

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/index.ts';
import { createFakeModel } from '../fake-model.ts';
import { start } from '../harness.ts';
import { demandSource, EACH, found, hold, type OnDemandHarness, startOnDemand } from './demand-source.ts';

const embed = ({ call }: OnDemandHarness) => call('POST', '/v1/embeddings', { model: 'vectors', input: 'a' });
const draw = ({ call }: OnDemandHarness) =>
  call('POST', '/v1/images/generations', { model: 'scenes', prompt: 'a' });

describe('a model that is opened on demand', () => {
  it('is listed with what is known of it, and opened by its first request', async () => {
    const { url, say, call, states, source } = await startOnDemand();
    expect((await call('GET', '/v1/models/owner/chat')).body).toMatchObject({
      status: { value: 'unloaded' },
      kind: 'text',
      pinned: false,
      size: 1000,
      memory: null,
      architecture: 'Qwen3ForCausalLM',
      max_model_len: 4096,
    });
    expect(await say('chat')).toEqual({ status: 200, text: 'hello' });
    expect(await states()).toEqual({
      'owner/chat': 'loaded',
      other: 'unloaded',
      vectors: 'unloaded',
      scenes: 'unloaded',
    });
    expect((await call('GET', '/v1/models/owner/chat')).body).toMatchObject({ memory: EACH });
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('\nsvc:num_open_models 1\n');
    expect(source.happened).toEqual(['open owner/chat']);
  });

  it('is ready while nothing is open, and refuses what it is not for without being opened', async () => {
    const { call, say, source } = await startOnDemand();
    expect((await call('GET', '/readyz')).body).toEqual({ status: 'ready', models: [] });
    expect(await say('vectors')).toEqual({
      status: 400,
      text: 'vectors is an embedding model; send it to POST /v1/embeddings',
    });
    expect((await say('nowhere')).status).toBe(404);
    expect(source.happened).toEqual([]);
  });

  it.each([
    ['/v1/images/generations', 'scenes', ['clips', 'scenes']],
    ['/v1/videos', 'clips', ['scenes', 'clips']],
  ])('and is named by none is one that fits %s', async (path, name, listed) => {
    const { server, url } = await start({}, { names: ['chat'] });
    const source = demandSource();
    source.models = listed.map((one) => found(one, 'image', one === 'clips'));
    await server.addCatalog(source, { budget: 2 * EACH, most: 0, pinned: [], keepAlive: null, waiting: 8 });
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as {
      data: { id: string; draws_clips?: true }[];
    };
    expect(data.filter(({ draws_clips: drawn }) => drawn).map(({ id }) => id)).toEqual(['clips']);
    const headers = { 'content-type': 'application/json' };
    const body = '{"prompt":"a","output_format":"webp"}';
    expect((await fetch(url + path, { method: 'POST', headers, body })).status).toBe(200);
    expect(source.happened).toEqual([`open ${name}`]);
  });

  it('is found once its files are there', async () => {
    const { say, source } = await startOnDemand();
    const [first] = source.models;
    source.models.push({ ...first!, name: 'added', path: '/models/added' });
    expect(await say('added')).toEqual({ status: 200, text: 'hello' });
  });

  it('is opened once for all that wait, and some may leave', async () => {
    const { say, source } = await startOnDemand({ waiting: 2 });
    const release = hold(source, 'other');
    const leaving = new AbortController();
    const left = say('other', 'one', { signal: leaving.signal }).catch(() => 'left');
    await expect.poll(() => source.happened).toEqual(['open other']);
    const stays = say('other', 'two');
    // Each of them waits before the next one comes.
    await expect.poll(async () => (await say('other', 'three')).text).toContain('2 requests wait for other');
    leaving.abort();
    expect(await left).toBe('left');
    release();
    expect(await stays).toEqual({ status: 200, text: 'two' });
    expect(source.happened).toEqual(['open other']);
  });

  it('tells a stream that waits how far it is', async () => {
    const { url, source } = await startOnDemand({}, { keepAlive: 20 });
    const release = hold(source, 'other');
    const body = { model: 'other', stream: true, messages: [{ role: 'user', content: 'hello' }] };
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toContain(': opening the model, loading weights, 25 %');
    release();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    expect(text).toContain('"content":"hello"');
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });

  it('that fails to open ends its own requests, whole or streamed, and is tried again', async () => {
    const { url, say, states, call, source } = await startOnDemand({ waiting: 2 }, { keepAlive: 20 });
    const broken = new EngineError('bad_checkpoint', 'model.safetensors ends early');
    source.failures.set('other', broken);
    const release = hold(source, 'other');
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
    const stream = await client.chat.completions.create({
      model: 'other',
      stream: true,
      messages: [{ role: 'user', content: 'a' }],
    });
    const streamed = (async () => {
      for await (const chunk of stream) return chunk;
      return null;
    })();
    streamed.catch(() => {}); // read below
    const [fails, chats] = [say('other'), say('chat')];
    await expect.poll(async () => (await say('other')).text).toContain('2 requests wait for other');
    release();
    const reason = 'other could not be opened: model.safetensors ends early';
    expect(await fails).toEqual({ status: 500, text: reason });
    await expect(streamed).rejects.toThrow(reason);
    expect(await chats).toEqual({ status: 200, text: 'hello' });
    expect(await states()).toMatchObject({ other: 'unloaded', 'owner/chat': 'loaded' });
    expect((await call('GET', '/v1/models/other')).body).toMatchObject({
      status: { value: 'unloaded', failed: true, error: reason },
    });
    expect(await say('other')).toEqual({ status: 200, text: 'hello' });
  });
});

describe('four models in a budget for two', () => {
  it('answer mixed requests at once, and are closed by last use', async () => {
    const server = await startOnDemand();
    const { say, states, source } = server;
    const replies = await Promise.all([say('chat'), embed(server), draw(server), say('other'), say('chat')]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const open = Object.values(await states()).filter((state) => state === 'loaded');
    expect(open.length).toBeLessThanOrEqual(2);
    expect(source.budgets.every((budget) => budget !== null && budget >= EACH)).toBe(true);
  });

  it('close the one that was used least recently', async () => {
    const server = await startOnDemand();
    const { say, source } = server;
    await say('chat');
    await say('other');
    await say('chat');
    await draw(server);
    expect(source.happened).toEqual(['open owner/chat', 'open other', 'close other', 'open scenes']);
  });

  it('wait for one that is busy, whose later requests then wait for their turn', async () => {
    const { say, source, model: _, ...rest } = await startOnDemand({ budget: EACH });
    const leaving = new AbortController();
    const hanging = say('chat', 'hang here', { signal: leaving.signal }).catch(() => 'left');
    await expect.poll(() => source.opened.size).toBe(1);
    const second = say('other');
    await expect.poll(async () => (await rest.states())['other']).toBe('loading');
    const third = say('chat', 'later');
    expect(source.happened).toEqual(['open owner/chat']);
    leaving.abort();
    expect(await hanging).toBe('left');
    expect(await second).toEqual({ status: 200, text: 'hello' });
    expect(await third).toEqual({ status: 200, text: 'later' });
    expect(source.happened).toEqual([
      'open owner/chat',
      'close owner/chat',
      'open other',
      'close other',
      'open owner/chat',
    ]);
  });

  it('leave pinned ones open, and refuse what has no room beside them', async () => {
    const { say, source } = await startOnDemand({ budget: EACH + 1, pinned: ['other'] });
    await say('other');
    const { status, text } = await say('chat');
    expect(status).toBe(503);
    expect(text).toMatch(
      /^owner\/chat could not be opened: it takes 4 KiB, .* models that stay open leave 1 B:/,
    );
    expect(await say('other')).toEqual({ status: 200, text: 'hello' });
    expect(source.happened).toEqual(['open other']);
  });

  it('are at most as many as may be open', async () => {
    const server = await startOnDemand({ budget: null, most: 2 });
    const { say, source } = server;
    await say('chat');
    await say('other');
    await embed(server);
    expect(source.happened).toEqual(['open owner/chat', 'open other', 'close owner/chat', 'open vectors']);
  });

  it('try again with fewer open where the device had no room', async () => {
    const { say, source } = await startOnDemand({ budget: null });
    await say('other');
    source.failures.set('owner/chat', new EngineError('out_of_memory', 'the device is full'));
    expect(await say('chat')).toEqual({ status: 200, text: 'hello' });
    expect(source.happened).toEqual(['open other', 'open owner/chat', 'close other', 'open owner/chat']);
  });

  it('share the room with models that stay, which come first and are not unloaded', async () => {
    const { server, say, call, states, source } = await startOnDemand({ budget: 2 * EACH });
    server.addModel({ names: ['fixed', 'other'] }).ready(createFakeModel());
    expect(await states()).toMatchObject({ fixed: 'loaded', other: 'loaded', 'owner/chat': 'unloaded' });
    expect((await call('GET', '/readyz')).body).toEqual({ status: 'ready', models: ['fixed', 'other'] });
    await say('default');
    await say('chat');
    source.models.push({ ...source.models[0]!, name: 'third', path: '/models/third' });
    await say('third');
    expect(source.happened).toEqual(['open owner/chat', 'close owner/chat', 'open third']);
    expect(await call('POST', '/models/unload', { model: 'fixed' })).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported', message: expect.stringContaining('--model-path') as string } },
    });
  });

  it('are closed after their time without a request', async () => {
    const { say, source, states } = await startOnDemand({ keepAlive: 1 });
    await say('chat');
    await expect.poll(() => source.happened).toEqual(['open owner/chat', 'close owner/chat']);
    expect(await states()).toMatchObject({ 'owner/chat': 'unloaded' });
  });
});
