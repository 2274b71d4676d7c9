// Models of a server that opens them on demand, as an administrator manages them: loaded, unloaded, fetched and deleted.

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { hold, startOnDemand } from './demand-source.ts';

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
