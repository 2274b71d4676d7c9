// Ollama's routes about models, and embeddings in that interface.

import { describe, expect, it } from 'vitest';
import { HELLO, startOllama } from './ollama-harness.ts';

const details = {
  parent_model: '',
  format: 'safetensors',
  family: 'BertModel',
  families: ['BertModel'],
  parameter_size: '1K',
  quantization_level: 'none',
};

describe('models in the Ollama interface', () => {
  it('are listed with LoRAs', async () => {
    const { ask, model } = await startOllama(HELLO);
    model.adapters = [{ name: 'mine', path: '/mine', rank: 8, requests: 0 }];
    const { models } = (await ask('tags')).body as { models?: Record<string, unknown>[] };
    expect(models!.map(({ name }) => name)).toEqual(['org/chat:latest', 'org/chat:mine', 'vectors:latest']);
    expect(models![2]).toEqual({
      name: 'vectors:latest',
      model: 'vectors:latest',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      details,
      modified_at: expect.stringMatching(/Z$/) as string,
      size: 1024,
    });
    expect(new Set(models!.map(({ digest }) => digest)).size).toBe(3);
  });

  it('are all loaded', async () => {
    const { ask } = await startOllama(HELLO);
    const { models } = (await ask('ps')).body as { models?: Record<string, unknown>[] };
    expect(models![1]).toMatchObject({
      name: 'vectors:latest',
      size: 2048,
      size_vram: 0,
      context_length: 512,
      details,
    });
    expect(Date.parse(String(models![0]!['expires_at']))).toBeGreaterThan(Date.now());
  });

  it('say what they can do', async () => {
    const { ask } = await startOllama(HELLO);
    const { body: chat } = await ask('show', { model: 'chat:latest', verbose: true });
    expect(chat).toMatchObject({
      capabilities: ['completion', 'tools', 'thinking'],
      parameters: expect.stringContaining('temperature 0.4\n') as string,
    });
    const { body: vectors } = await ask('show', { name: 'vectors' });
    expect(vectors).toMatchObject({
      capabilities: ['embedding'],
      details,
      model_info: {
        'general.architecture': 'BertModel',
        'BertModel.context_length': 512,
        'BertModel.embedding_length': 8,
      },
    });
    expect(await ask('show', {})).toMatchObject({ status: 400 });
    expect(await ask('show', { model: 'none' })).toMatchObject({ status: 404 });
  });

  it('a version that clients can read', async () => {
    const { ask } = await startOllama(HELLO, { version: '1.2.3' });
    expect((await ask('version')).body).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string,
      svc_engine: '1.2.3',
    });
  });

  it.each([
    ['pull', 'POST'],
    ['push', 'POST'],
    ['create', 'POST'],
    ['copy', 'POST'],
    ['delete', 'DELETE'],
    ['blobs/sha256:0', 'POST'],
  ])('cannot be changed by %s', async (path, method) => {
    const { ask } = await startOllama(HELLO);
    expect(await ask(path, { model: 'chat' }, method)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('--model-path') as string },
    });
  });
});

describe('embeddings in the Ollama interface', () => {
  it('of a chat model, and texts of an embedding model, name the routes of this interface', async () => {
    const { ask } = await startOllama(HELLO);
    const { body } = await ask('embed', { model: 'default', input: 'a' });
    expect(body).toMatchObject({ embeddings: expect.anything() });
    const { status, body: chat } = await ask('embed', { model: 'chat', input: 'a' });
    expect([status, chat['error']]).toEqual([
      400,
      'chat is a chat model; send it to POST /api/chat or /api/generate',
    ]);
    const vectors = { model: 'vectors', messages: [{ role: 'user', content: 'a' }] };
    expect((await ask('chat', vectors)).body['error']).toBe(
      'vectors is an embedding model; send it to POST /api/embed',
    );
  });

  it('of one text and of several', async () => {
    const { ask, embedder } = await startOllama(HELLO);
    const { body } = await ask('embed', {
      model: 'vectors',
      input: ['ab', 'c'],
      dimensions: 2,
      truncate: false,
    });
    expect(body).toEqual({
      model: 'vectors',
      embeddings: [
        [97 / 256, 98 / 256],
        [99 / 256, 0],
      ],
      total_duration: expect.any(Number) as number,
      load_duration: expect.any(Number) as number,
      prompt_eval_count: 3,
    });
    expect((await ask('embed', { model: 'vectors', input: 'ab' })).body['embeddings']).toHaveLength(1);
    expect(embedder.requests.map(({ inputs }) => inputs)).toEqual([['ab', 'c'], ['ab']]);
  });

  it('in the older shape', async () => {
    const { ask } = await startOllama(HELLO);
    const { body } = await ask('embeddings', { model: 'vectors:latest', prompt: 'ab', keep_alive: 0 });
    expect(body).toEqual({ embedding: [97 / 256, 98 / 256, 0, 0, 0, 0, 0, 0] });
  });

  it('of more than the context holds are those of its beginning', async () => {
    const { ask, embedder } = await startOllama(HELLO);
    const input = ['x'.repeat(600), 'y'.repeat(510)];
    await ask('embed', { model: 'vectors', input });
    const [cut, whole] = embedder.requests[0]!.inputs as [number[], string];
    expect([cut.length, cut[0], cut[511], whole]).toEqual([512, 1, 2, input[1]]);
    await ask('embed', { model: 'vectors', input, truncate: false });
    expect(embedder.requests[1]!.inputs).toEqual(input);
  });

  it.each([
    ['embed', { model: 'vectors' }, 400, 'input is required'],
    ['embed', { model: 'vectors', input: [] }, 400, 'input must have at least 1'],
    ['embed', { model: 'chat', input: 'a' }, 400, 'is a chat model'],
    ['embed', { model: 'vectors', input: 'refuse bad_request' }, 400, 'input refused'],
    ['embed', { model: 'vectors', input: ['a', 'refuse bad_request'] }, 400, 'input.1 refused'],
    ['embeddings', { model: 'vectors', prompt: 'refuse bad_request' }, 400, 'prompt refused'],
    ['embeddings', { model: 'none', prompt: 'a' }, 404, 'there is no model'],
  ])('%s %j', async (path, fields, status, message) => {
    const { ask } = await startOllama(HELLO);
    expect(await ask(path, fields)).toMatchObject({
      status,
      body: { error: expect.stringContaining(message) as string },
    });
  });
});
