// Models of a folder: found by their files; planned, opened and closed on a real device by requests; fetched from a hub and deleted.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { expect, it, onTestFinished } from 'vitest';
import { checkOnDemand } from '../../../src/cli/serve/on-demand-options.ts';
import { modelSource } from '../../../src/cli/serve/on-demand.ts';
import type { Openers } from '../../../src/cli/serve/serve-models.ts';
import {
  findModels,
  openEmbeddingModel,
  openImageModel,
  openTextModel,
  removeFound,
  shippedModelPath,
} from '../../../src/index.ts';
import { startServer } from '../../../src/server/lifecycle.ts';
import { hubFixture } from '../../files/hub/mock-hub-fixture.ts';

const OPENERS = {
  text: openTextModel,
  image: openImageModel,
  embedding: openEmbeddingModel,
} as unknown as Openers;

function folder(files: readonly string[] = []): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-demand-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  for (const file of files) {
    mkdirSync(dirname(join(made, file)), { recursive: true });
    writeFileSync(join(made, file), '{}');
  }
  return made;
}

it.each([
  ['a folder', ['chat/config.json', 'chat/model.safetensors'], { chat: 'text' }],
  [
    'a folder of an owner',
    ['owner/vectors/modules.json', 'owner/vectors/config.json'],
    { 'owner/vectors': 'embedding' },
  ],
  ['a pipeline', ['scenes/model_index.json', 'scenes/unet/config.json'], { scenes: 'image' }],
  ['a GGUF file', ['tiny-Q4_K_M.gguf', 'mmproj-tiny-F16.gguf'], { 'tiny-Q4_K_M': 'text' }],
  ['parts of a GGUF file', ['big-00001-of-00002.gguf', 'big-00002-of-00002.gguf'], { big: 'text' }],
  ['one quantization in a folder', ['chat/tiny-Q4_K_M.gguf'], { chat: 'text' }],
  [
    'several',
    ['chat/tiny-Q4_K_M.gguf', 'chat/tiny-Q8_0.gguf'],
    { 'chat:Q4_K_M': 'text', 'chat:Q8_0': 'text' },
  ],
  [
    'several of one name',
    ['foo/config.json', 'foo.gguf', 'foo.safetensors', 'chat/a-Q8_0.gguf', 'chat/b-Q8_0.gguf'],
    {
      foo: 'text',
      'foo.gguf': 'text',
      'foo.safetensors': 'image',
      'chat:a-Q8_0.gguf': 'text',
      'chat:b-Q8_0.gguf': 'text',
    },
  ],
  ['an image model in one file', ['dream.safetensors'], { dream: 'image' }],
  [
    'several of them in a folder',
    ['checkpoints/a.safetensors', 'checkpoints/b.safetensors'],
    { 'checkpoints/a': 'image', 'checkpoints/b': 'image' },
  ],
  ['nothing else', ['.hub/chat/config.json', 'notes/readme.txt', 'a/b/c/config.json', 'config.json'], {}],
])('a folder of models has %s', async (_, files, expected) => {
  const found = await findModels(folder(files));
  expect(Object.fromEntries(found.map(({ name, kind }) => [name, kind]))).toEqual(expected);
});

it('a folder of models says which of them draw clips', async () => {
  const home = folder(['wan2.1-t2v.safetensors', 'dream.safetensors']);
  const pipelines = { ltx: 'LTXPipeline', scenes: 'StableDiffusionPipeline', still: 'WanPipeline' };
  for (const [name, _class_name] of Object.entries(pipelines)) {
    mkdirSync(join(home, name));
    writeFileSync(join(home, name, 'model_index.json'), JSON.stringify({ _class_name }));
  }
  writeFileSync(join(home, 'still', 'svc.json'), '{"num_frames":1}');
  const found = await findModels(home);
  expect(found.filter(({ drawsClips }) => drawsClips).map(({ name }) => name)).toEqual(['ltx', 'wan2.1-t2v']);
});

it('links to the parts of a model are removed together, and not the parts', async () => {
  const parts = ['big-00001-of-00002.gguf', 'big-00002-of-00002.gguf'];
  const [home, elsewhere] = [folder(), folder(parts)];
  for (const part of parts) symlinkSync(join(elsewhere, part), join(home, part));
  const [found] = await findModels(home);
  await removeFound(found!);
  expect([readdirSync(home), readdirSync(elsewhere)]).toEqual([[], parts]);
});

it('options that have no effect are refused', () => {
  const typed = (...names: string[]) => new Set(names);
  expect(() => checkOnDemand({}, typed('models-max'), 1)).toThrow('give --models-dir');
  const place = { 'models-dir': 'cache', 'models-max': 2 };
  expect(() => checkOnDemand(place, typed('dp-size'), 0)).toThrow('--dp-size is for models of --model-path');
  expect(() => checkOnDemand({ ...place, 'models-pinned': ['a', 'b'] }, typed(), 1)).toThrow(
    '3 models stay open',
  );
  expect(() => checkOnDemand({ ...place, 'models-pinned': ['a'] }, typed('models-max'), 1)).not.toThrow();
});

async function serve(home: string, budget: number, env?: Record<string, string>) {
  const log = { error: console.error, warn() {}, info() {}, debug() {} };
  const server = await startServer({ host: '127.0.0.1', port: 0 }, log);
  const options = { 'models-dir': home, quantization: 'none', 'sampling-defaults': 'model' };
  const source = modelSource(OPENERS, options as never, env);
  const limits = { budget, most: 0, pinned: [], keepAlive: null, waiting: 16 };
  const catalog = await server.addCatalog(source, limits);
  onTestFinished(async () => {
    await server.close();
    await catalog.close();
  });
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const states = async () =>
    Object.fromEntries(
      ((await client.models.list()).data as unknown as { id: string; status: { value: string } }[]).map(
        ({ id, status }) => [id, status.value],
      ),
    );
  return { server, client, states };
}

it('real models share a budget for two of them, and one that cannot be opened fails alone', async () => {
  const home = folder(['broken/config.json']);
  mkdirSync(join(home, 'owner'));
  symlinkSync(shippedModelPath(), join(home, 'chat'));
  symlinkSync(shippedModelPath(), join(home, 'owner', 'mini'));
  const vectors = fileURLToPath(new URL('../../golden/embedding/qwen3', import.meta.url));
  symlinkSync(vectors, join(home, 'vectors'));
  // One model of text takes 224 MB on paper and on the device, the other one 1.2 MB.
  const { client, states } = await serve(home, 230e6);
  const say = async (model: string): Promise<string> => {
    const messages = [{ role: 'user' as const, content: 'hello' }];
    const reply = await client.chat.completions.create({ model, messages, temperature: 0, max_tokens: 4 });
    return reply.choices[0]!.message.content!;
  };
  const embed = () => client.embeddings.create({ model: 'vectors', input: 'a' });
  const broken = expect(say('broken')).rejects.toThrow('broken could not be opened');
  const [first] = await Promise.all([say('chat'), embed(), broken]);
  const second = await say('mini');
  expect(first).not.toBe('');
  expect(second).toBe(first);
  expect(await states()).toEqual({
    broken: 'unloaded',
    chat: 'unloaded',
    'owner/mini': 'loaded',
    vectors: 'loaded',
  });
}, 120_000);

it("the cache's models are opened by their files, without the hub", async () => {
  const { env, hub, resolve } = await hubFixture();
  await resolve();
  await hub.close();
  const [model] = await modelSource(OPENERS, { 'models-dir': 'cache' } as never, env).list();
  expect(model!.name).toBe('acme/tiny');
  expect(existsSync(join(model!.path, 'config.json'))).toBe(true);
});

it('a model of a hub is fetched into the folder, served, and deleted', async () => {
  const { env } = await hubFixture();
  const home = folder();
  const { server, states } = await serve(home, 1e9, env);
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'acme/tiny' });
  const fetched = await fetch(`${server.url}/models`, { method: 'POST', headers, body });
  expect(await fetched.json()).toMatchObject({ success: true, status: { value: 'downloading' } });
  await expect.poll(states).toEqual({ 'acme/tiny': 'unloaded' });
  expect(existsSync(join(home, '.hub', 'models--acme--tiny'))).toBe(true);
  const deleted = await fetch(`${server.url}/v1/models?model=acme/tiny`, { method: 'DELETE' });
  expect(await deleted.json()).toMatchObject({ deleted: true });
  expect(await states()).toEqual({});
  expect(existsSync(join(home, '.hub', 'models--acme--tiny'))).toBe(false);
});
