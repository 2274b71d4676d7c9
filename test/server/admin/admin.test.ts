// The routes that load and unload LoRAs, flush and abort, and their access rules.

import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { Loras } from '../../../src/engine/text/lora/loras.ts';
import { EngineError } from '../../../src/index.ts';
import { show } from '../../../src/server/body/fields.ts';
import type { ServerOptions } from '../../../src/server/service/service.ts';
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

describe('routes of LoRAs', () => {
  const poet = { name: 'poet', path: '/adapters/poet', rank: 8, requests: 0 };

  it('load and unload LoRAs, and list the loaded ones', async () => {
    const { post, model, other } = await startAdmin();
    const asked: string[][] = [];
    model.loadLora = async (name, path) => (asked.push([name, path]), [poet]);
    other.unloadLora = async (name) => (asked.push([name]), []);
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

  it('add them to the list of models, under their model', async () => {
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
  ])('refuse the call of %s with %j', async (path, body, param) => {
    const { post } = await startAdmin();
    expect((await post(path, body)).body).toMatchObject({
      error: { code: 'missing_required_parameter', param },
    });
  });

  it.each([
    ['bad_checkpoint', 'path', 400, 'invalid_value', 'lora_path'],
    ['unsupported', 'path', 400, 'unsupported', 'lora_path'],
    ['bad_request', 'name', 400, 'invalid_value', 'lora_name'],
    ['device_lost', undefined, 503, 'device_lost', null],
  ] as const)(
    'pass on %s about %s, which is the caller’s fault if the field is',
    async (thrown, about, status, code, param) => {
      const { post, model } = await startAdmin();
      const error = new EngineError(thrown, 'what it says', about === undefined ? {} : { param: about });
      model.loadLora = () => Promise.reject(error);
      expect(await post('/load_lora_adapter', { lora_name: 'poet', lora_path: '/a' })).toMatchObject({
        status,
        body: { error: { code, param, message: 'what it says' } },
      });
    },
  );
});

describe('/load_lora_adapter', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-paths-'));
  afterAll(() => rmSync(home, { recursive: true }));
  const golden = fileURLToPath(new URL('../../golden/lora/llama-some', import.meta.url));

  /** Starts a server with files on the real disk and without a device. */
  async function startOnDisk() {
    const harness = await startAdmin();
    const adapters = new Loras(nodePlatform, {}, () => {});
    await adapters.attach({ add: async () => {}, remove: async () => {} });
    harness.model.loadLora = (name, path) => adapters.load(name, path);
    const load = (path: string) => harness.post('/load_lora_adapter', { lora_name: 'x', lora_path: path });
    return { ...harness, load };
  }

  it('gives one answer to every path without a LoRA, and its reason to the log', async () => {
    const { load, lines } = await startOnDisk();
    const at = (name: string) => join(home, name);
    for (const name of ['bare', 'closed', 'odd', 'loop']) mkdirSync(at(name));
    writeFileSync(at('file'), 'x');
    writeFileSync(at('file.gguf'), 'GGUF');
    writeFileSync(join(at('odd'), 'adapter_config.json'), '[');
    mkdirSync(join(at('loop'), 'adapter_config.json'));
    symlinkSync('/', at('link'));
    symlinkSync(at('nowhere'), at('dangling'));
    chmodSync(at('closed'), 0);
    const names = [
      'nowhere',
      'bare',
      'closed',
      'odd',
      'loop',
      'file',
      'file.gguf',
      'file/x',
      'link',
      'dangling',
    ];
    const paths = [...names.map(at), '/', '/dev/zero', '/proc/self/mem', '.', '\u0000', 'a'.repeat(5000)];
    for (const path of paths) {
      const { status, body } = await load(path);
      const { error } = body as { error: { message: string } };
      expect([path, status]).toEqual([path, 404]);
      expect(error).toEqual({
        message: `${show(path)} is not a folder of a LoRA that this server can read; give the one that PEFT saved it in, and find the reason in the server's log`,
        type: 'invalid_request_error',
        param: 'lora_path',
        code: 'model_not_found',
      });
    }
    chmodSync(at('closed'), 0o700);
    expect(lines.filter((line) => line.startsWith('warn No LoRA loaded'))).toHaveLength(paths.length);
    expect(lines.join()).toContain('file.gguf is not a sound GGUF file');
    expect(lines.filter((line) => /: "|[\n\0]/.test(line))).toEqual([]);
  });

  it('says what is wrong with a LoRA that is there', async () => {
    const { load } = await startOnDisk();
    cpSync(golden, join(home, 'dora'), { recursive: true });
    writeFileSync(join(home, 'dora/adapter_config.json'), '{"peft_type":"LORA","use_dora":true}');
    expect(await load(join(home, 'dora'))).toMatchObject({
      status: 400,
      body: {
        error: { code: 'unsupported', param: 'lora_path', message: expect.stringContaining('use_dora true') },
      },
    });
    expect(await load(golden)).toMatchObject({ status: 200, body: { loaded_adapters: { x: golden } } });
  });
});

describe('the admin key', () => {
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
