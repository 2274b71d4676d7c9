// POST /v1/embeddings on a fake model: fields, errors, and the reply that the openai client reads.

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { MODEL_KINDS } from '../../../src/index.ts';
import type { ServerOptions } from '../../../src/server/service/service.ts';
import { createFakeEmbeddingModel } from '../fake-embedding-model.ts';
import { start } from '../harness.ts';

async function startEmbedding(options: Partial<ServerOptions> = {}) {
  const harness = await start(options, { names: ['org/chat'] });
  const model = createFakeEmbeddingModel();
  harness.server.addModel({ names: ['org/vectors'], kind: MODEL_KINDS.embedding }).ready(model);
  const post = async (body: unknown) => {
    const response = await fetch(`${harness.url}/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Reply };
  };
  return { ...harness, embedder: model, post };
}

interface Reply {
  object?: string;
  data?: { object: string; index: number; embedding: number[] | string }[];
  model?: string;
  usage?: { prompt_tokens: number; total_tokens: number };
  error?: { code: string; param: string | null; message: string };
}

describe('the input of an embedding request', () => {
  it.each([
    ['a text', 'ab', ['ab'], 2],
    ['texts', ['ab', 'c'], ['ab', 'c'], 3],
    ['token ids', [97, 98], [[97, 98]], 2],
    ['lists of token ids', [[97], [98, 99]], [[97], [98, 99]], 3],
  ])('is %s', async (_, input, inputs, tokens) => {
    const { post, embedder } = await startEmbedding();
    const { status, body } = await post({ model: 'org/vectors', input });
    expect(status).toBe(200);
    expect(embedder.requests).toEqual([{ inputs }]);
    expect(body).toMatchObject({
      object: 'list',
      model: 'org/vectors',
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    });
    expect(body.data!.map(({ index, object }) => [index, object])).toEqual(
      inputs.map((__, index) => [index, 'embedding']),
    );
    expect((body.data![0]!.embedding as number[])[0]).toBeCloseTo(97 / 256);
  });

  it.each([
    [{}, 'missing_required_parameter', 'input'],
    [{ input: '' }, 'invalid_value', 'input'],
    [{ input: [] }, 'invalid_value', 'input'],
    [{ input: ['a', ''] }, 'invalid_value', 'input.1'],
    [{ input: 7 }, 'invalid_type', 'input'],
    [{ input: [1.5] }, 'invalid_type', 'input.0'],
    [{ input: ['a', 7] }, 'invalid_type', 'input.1'],
    [{ input: 'a', dimensions: 0 }, 'invalid_value', 'dimensions'],
    [{ input: 'a', task: '' }, 'invalid_value', 'task'],
    [{ input: 'a', encoding_format: 'hex' }, 'invalid_value', 'encoding_format'],
    [{ input: 'refuse context_length_exceeded' }, 'context_length_exceeded', 'input'],
    [{ input: ['a', 'refuse bad_request'] }, 'invalid_value', 'input.1'],
  ])('%j is refused', async (fields, code, param) => {
    const { post } = await startEmbedding();
    const { status, body } = await post({ model: 'default', ...fields });
    expect([status, body.error?.code, body.error?.param]).toEqual([400, code, param]);
    expect(body.error?.message).toContain(param);
  });
});

it('an embedding request takes 2,048 texts at most, and one text of more ids', async () => {
  const { post, embedder } = await startEmbedding();
  const { body } = await post({ model: 'default', input: Array<string>(2049).fill('a') });
  expect(body.error).toMatchObject({ code: 'invalid_value', param: 'input' });
  expect((await post({ model: 'default', input: Array<number>(3000).fill(97) })).status).toBe(200);
  expect(embedder.requests[0]!.inputs).toHaveLength(1);
});

it('dimensions of an embedding request reach the model', async () => {
  const { post, embedder } = await startEmbedding();
  const { body } = await post({ model: 'default', input: 'abc', dimensions: 2 });
  expect(embedder.requests).toEqual([{ inputs: ['abc'], dimensions: 2 }]);
  expect(body.data![0]!.embedding).toHaveLength(2);
});

it('the task of an embedding request reaches the model', async () => {
  const { post, embedder } = await startEmbedding();
  await post({ model: 'default', input: 'abc', task: 'retrieval.query' });
  expect(embedder.requests).toEqual([{ inputs: ['abc'], task: 'retrieval.query' }]);
});

it('base64 embeddings hold the same floats', async () => {
  const { post } = await startEmbedding();
  const [floats, base64] = await Promise.all(
    ['float', 'base64'].map(async (encoding_format) => {
      const { body } = await post({ model: 'default', input: 'hello', encoding_format });
      return body.data![0]!.embedding;
    }),
  );
  const bytes = Buffer.from(base64 as string, 'base64');
  expect((floats as number[]).map((_, i) => bytes.readFloatLE(4 * i))).toEqual(floats);
});

it('the field user has no effect, and an unknown name is listed, or refused if the server is strict', async () => {
  const fields = { model: 'default', input: 'a', user: 'me', wishes: 1 };
  const { post } = await startEmbedding();
  expect((await post(fields)).headers.get('x-svc-ignored')).toBe('wishes');
  const strict = await startEmbedding({ strict: true });
  expect((await strict.post(fields)).body.error).toMatchObject({
    code: 'unknown_parameter',
    param: 'wishes',
  });
});

it('a chat model is no embedding model, and the other way round', async () => {
  const { post, url } = await startEmbedding();
  const { status, body } = await post({ model: 'org/chat', input: 'a' });
  expect([status, body.error?.code]).toEqual([400, 'unsupported']);
  expect(body.error?.message).toContain('POST /v1/chat/completions');
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'vectors', messages: [{ role: 'user', content: 'a' }] }),
  });
  expect(((await response.json()) as Reply).error?.message).toContain('POST /v1/embeddings');
});

it('an embedding model stands in the list of models', async () => {
  const { url } = await startEmbedding();
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: object[] };
  expect(data[1]).toMatchObject({ id: 'org/vectors', max_model_len: 512, dimensions: 8, pooling: 'mean' });
});

it('the openai client reads embeddings, which it asks for in base64 by itself', async () => {
  const { url } = await startEmbedding();
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const { data, usage } = await client.embeddings.create({ model: 'vectors', input: ['ab', 'b'] });
  expect(data.map(({ embedding }) => embedding[0])).toEqual([97 / 256, 98 / 256]);
  expect(usage.total_tokens).toBe(3);
  await expect(
    client.embeddings.create({ model: 'vectors', input: 'refuse context_length_exceeded' }),
  ).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
});
