// Four models in a budget for two: opened at their first requests, closed by last use, failing alone, pinned, unloaded, fetched and deleted.

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/index.ts';
import { createFakeModel } from '../fake-model.ts';
import { EACH, hold, type OnDemandHarness, startOnDemand } from './demand-source.ts';

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

describe('managing models', () => {
  it('loads and unloads them, also while requests run', async () => {
    const { call, say, source } = await startOnDemand();
    expect(await call('POST', '/models/load', { model: 'other' })).toMatchObject({
      status: 200,
      body: { success: true, model: 'other', status: { value: 'loaded' } },
    });
    const leaving = new AbortController();
    const hanging = say('other', 'hang here', { signal: leaving.signal }).catch(() => 'left');
    await expect.poll(() => (source.opened.get('other') as unknown as { running: number }).running).toBe(1);
    expect((await call('DELETE', '/models?model=other')).body).toMatchObject({ error: { code: 'busy' } });
    const unloaded = call('POST', '/v1/models/unload', { model: 'other' });
    leaving.abort();
    expect(await hanging).toBe('left');
    expect(await unloaded).toMatchObject({ status: 200, body: { status: { value: 'unloaded' } } });
    expect(source.happened).toEqual(['open other', 'close other']);
  });

  it('fetches and deletes them, and says how far that is', async () => {
    const { url, call, say, states, source } = await startOnDemand();
    const reader = (await fetch(`${url}/models/sse`)).body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (part: string): Promise<void> => {
      while (!text.includes(part)) text += (await reader.read()).value;
    };
    await until('"model":"scenes","status":{"value":"unloaded"}');
    const release = hold(source, 'new/model');
    expect((await call('POST', '/models', { model: 'new/model' })).body).toMatchObject({
      model: 'new/model',
      status: { value: 'downloading' },
    });
    await until('"model":"new/model","status":{"value":"downloading","progress":0.25}');
    expect(await states()).toMatchObject({ 'new/model': 'downloading' });
    release();
    await until('"model":"new/model","status":{"value":"unloaded"}');
    expect(await say('new/model')).toEqual({ status: 200, text: 'hello' });
    await until('"model":"new/model","status":{"value":"loaded"}');
    expect((await call('DELETE', '/models?model=new/model')).body).toMatchObject({ deleted: true });
    await until('"model":"new/model","status":{"value":"unloaded"},"removed":true');
    await reader.cancel();
    expect(source.happened.at(-1)).toBe('remove new/model');
    expect((await say('new/model')).status).toBe(404);
  });

  it("lists and deletes them as OpenAI's client asks for it", async () => {
    const { url, source } = await startOnDemand();
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
    const names: string[] = [];
    for await (const { id } of client.models.list()) names.push(id);
    expect(names).toEqual(['owner/chat', 'other', 'vectors', 'scenes']);
    expect(await client.models.retrieve('owner/chat')).toMatchObject({ id: 'owner/chat' });
    expect(await client.models.delete('owner/chat')).toMatchObject({ id: 'owner/chat', deleted: true });
    expect(source.happened).toEqual(['remove owner/chat']);
    await expect(client.models.retrieve('owner/chat')).rejects.toThrow('there is no model');
  });

  it('ends a download that is deleted', async () => {
    const { call, states, source } = await startOnDemand();
    hold(source, 'new/model');
    await call('POST', '/models', { model: 'new/model' });
    expect((await call('DELETE', '/models?model=new/model')).body).toMatchObject({ deleted: true });
    expect(await states()).not.toHaveProperty('new/model');
  });

  it('deletes a model whose download has all files by then', async () => {
    const { call, states, source } = await startOnDemand();
    const release = hold(source, 'new/model');
    const { fetch } = source;
    source.fetch = (id, onProgress, cancelled) => {
      cancelled.addEventListener('abort', release);
      return fetch(id, onProgress, new AbortController().signal);
    };
    await call('POST', '/models', { model: 'new/model' });
    expect((await call('DELETE', '/models?model=new/model')).body).toMatchObject({ deleted: true });
    expect(source.happened).toEqual(['fetch new/model', 'remove new/model']);
    expect(await states()).not.toHaveProperty('new/model');
  });

  it('is for administrators, and for servers that open models on demand', async () => {
    const { url } = await startOnDemand({}, { adminApiKey: 'a' });
    const status = async (method: string, path: string) => (await fetch(url + path, { method })).status;
    expect(await status('GET', '/v1/models')).toBe(200);
    for (const [method, path] of [
      ['POST', '/models/load'],
      ['POST', '/v1/models/unload'],
      ['POST', '/models'],
      ['DELETE', '/models?model=other'],
      ['DELETE', '/v1/models/other'],
    ] as const)
      expect(await status(method, path), `${method} ${path}`).toBe(401);
  });
});
