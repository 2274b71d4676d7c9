// The routes that change what is served, and who may call them.

import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/index.ts';
import type { ServerOptions } from '../../../src/server/service.ts';
import { createFakeModel } from '../fake-model.ts';
import { start } from '../harness.ts';

async function startAdmin(options: Partial<ServerOptions> = {}) {
  const harness = await start(options, { names: ['one'] });
  const other = createFakeModel();
  harness.server.addModel({ names: ['two'] }).ready(other);
  const post = async (path: string, body?: object, key?: string) => {
    const response = await fetch(harness.url + path, {
      method: 'POST',
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return { ...harness, other, post };
}

describe('/flush_cache', () => {
  it('empties the caches of all models, or of one', async () => {
    const { post, model, other } = await startAdmin();
    const flushed: string[] = [];
    model.flushCache = async () => (flushed.push('one'), true);
    other.flushCache = async () => (flushed.push('two'), true);
    expect(await post('/flush_cache')).toEqual({ status: 200, body: { flushed: true } });
    expect(flushed).toEqual(['one', 'two']);
    await post('/flush_cache', { model: 'two' });
    expect(flushed).toEqual(['one', 'two', 'two']);
  });

  it('is refused while requests run', async () => {
    const { post, model } = await startAdmin();
    model.flushCache = async () => false;
    expect(await post('/flush_cache')).toMatchObject({ status: 400, body: { error: { code: 'busy' } } });
  });
});

describe('/abort_request', () => {
  it('ends requests by id, and all of them', async () => {
    const { post, model, other } = await startAdmin();
    const asked: string[] = [];
    model.abort = async (id) => (asked.push(`one ${id}`), 2);
    other.abort = async (id) => (asked.push(`two ${id}`), 1);
    expect((await post('/abort_request', { rid: 'abc' })).body).toEqual({ aborted: 3 });
    expect((await post('/abort_request', { abort_all: true, model: 'two' })).body).toEqual({ aborted: 1 });
    expect(asked).toEqual(['one abc', 'two abc', 'two all']);
  });

  it.each([
    [{}, 'missing_required_parameter', 'rid'],
    [{ rid: 'a', abort_all: true }, 'invalid_value', 'rid'],
    [{ rid: '' }, 'invalid_value', 'rid'],
    [{ rid: 'a', model: 'none' }, 'model_not_found', 'model'],
  ])('%j is refused', async (body, code, param) => {
    const { post } = await startAdmin();
    expect((await post('/abort_request', body)).body).toMatchObject({ error: { code, param } });
  });
});

describe('LoRA adapters', () => {
  const poet = { name: 'poet', path: '/adapters/poet', rank: 8, requests: 0 };

  it('are loaded and unloaded, and those that there are told', async () => {
    const { post, model, other } = await startAdmin();
    const asked: string[][] = [];
    model.loadAdapter = async (name, path) => (asked.push([name, path]), [poet]);
    other.unloadAdapter = async (name) => (asked.push([name]), []);
    expect(await post('/load_lora_adapter', { lora_name: 'poet', lora_path: '/adapters/poet' })).toEqual({
      status: 200,
      body: { success: true, loaded_adapters: { poet: '/adapters/poet' } },
    });
    expect((await post('/unload_lora_adapter', { lora_name: 'poet', model: 'two' })).body).toEqual({
      success: true,
      loaded_adapters: {},
    });
    expect(asked).toEqual([['poet', '/adapters/poet'], ['poet']]);
  });

  it('are among the models, under the model they belong to', async () => {
    const { url, model } = await startAdmin();
    model.adapters = [poet];
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as {
      data: { id: string; root: string; parent: string | null }[];
    };
    const entry = data.find(({ id }) => id === 'one:poet');
    expect(entry).toMatchObject({ root: '/adapters/poet', parent: 'one' });
    expect(await (await fetch(`${url}/v1/models/one:poet`)).json()).toEqual(entry);
    expect(await (await fetch(`${url}/v1/models/default:poet`)).json()).toEqual(entry);
    for (const name of ['one:painter', 'two:poet', 'three:poet'])
      expect([name, (await fetch(`${url}/v1/models/${name}`)).status]).toEqual([name, 404]);
  });

  it.each([
    ['/load_lora_adapter', { lora_path: 'x' }, 'lora_name'],
    ['/load_lora_adapter', { lora_name: 'x' }, 'lora_path'],
    ['/unload_lora_adapter', {}, 'lora_name'],
  ])('%s with %j is refused', async (path, body, param) => {
    const { post } = await startAdmin();
    expect((await post(path, body)).body).toMatchObject({
      error: { code: 'missing_required_parameter', param },
    });
  });

  it.each([
    ['bad_checkpoint', 'path', 400, 'invalid_value', 'lora_path'],
    ['unsupported', 'path', 400, 'unsupported', 'lora_path'],
    ['model_not_found', 'path', 404, 'model_not_found', 'lora_path'],
    ['bad_request', 'name', 400, 'invalid_value', 'lora_name'],
    ['device_lost', undefined, 503, 'device_lost', null],
  ] as const)(
    '%s about %s is the caller’s where the field is',
    async (thrown, about, status, code, param) => {
      const { post, model } = await startAdmin();
      const error = new EngineError(thrown, 'what it says', about === undefined ? {} : { param: about });
      model.loadAdapter = () => Promise.reject(error);
      expect(await post('/load_lora_adapter', { lora_name: 'poet', lora_path: '/a' })).toMatchObject({
        status,
        body: { error: { code, param, message: 'what it says' } },
      });
    },
  );
});

describe('the key', () => {
  it.each([
    [{}, undefined, 200],
    [{ apiKey: 'k' }, undefined, 401],
    [{ apiKey: 'k' }, 'k', 200],
    [{ apiKey: 'k', adminApiKey: 'a' }, 'k', 401],
    [{ apiKey: 'k', adminApiKey: 'a' }, 'a', 200],
    [{ adminApiKey: 'a' }, undefined, 401],
    [{ adminApiKey: 'a' }, 'a', 200],
  ])('%j with %s: %d', async (options, key, status) => {
    const { post } = await startAdmin(options);
    expect((await post('/flush_cache', undefined, key)).status).toBe(status);
  });
});
