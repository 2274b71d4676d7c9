// /tokenize and /detokenize on fake models.

import { describe, expect, it } from 'vitest';
import { MODEL_KINDS } from '../../../src/index.ts';
import { createFakeEmbeddingModel } from '../fake-embedding-model.ts';
import { eventually, start } from '../harness.ts';

interface Reply {
  tokens?: number[] | number[][];
  count?: number | number[];
  max_model_len?: number;
  text?: string | string[];
  error?: { code: string; param: string | null };
}

async function startTokenizing() {
  const { server, url, model } = await start({}, { names: ['chat'] });
  server.addModel({ names: ['vectors'], kind: MODEL_KINDS.embedding }).ready(createFakeEmbeddingModel());
  const post = async (path: string, body: object) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Reply };
  };
  return { url, model, post, server };
}

it.each(['/tokenize', '/v1/messages/count_tokens'])('%s ends when the client leaves', async (path) => {
  const { url, model, server } = await startTokenizing();
  const leaving = new AbortController();
  const messages = [{ role: 'user', content: 'hang here' }];
  const asked = fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages }),
    signal: leaving.signal,
  });
  await eventually(() => model.rendered.length === 1 && server.running() === 1, 'the call');
  leaving.abort();
  await expect(asked).rejects.toThrow();
  await eventually(() => server.running() === 0, 'the end of the call');
});

describe.each(['', '/v1'])('the route %s/tokenize', (prefix) => {
  const path = `${prefix}/tokenize`;

  it.each([
    ['a text', { prompt: 'ab' }, [1, 97, 98], 3],
    ['an empty one', { prompt: '' }, [1], 1],
    ['a text without special tokens', { prompt: 'ab', add_special_tokens: false }, [97, 98], 2],
    [
      'texts',
      { prompt: ['a', 'bc'] },
      [
        [1, 97],
        [1, 98, 99],
      ],
      [2, 3],
    ],
  ])('%s', async (_, fields, tokens, count) => {
    const { post } = await startTokenizing();
    expect((await post(path, fields)).body).toEqual({ tokens, count, max_model_len: 4096 });
  });

  it('of an embedding model', async () => {
    const { post } = await startTokenizing();
    expect((await post(path, { model: 'vectors', prompt: 'a' })).body).toEqual({
      tokens: [1, 97, 2],
      count: 3,
      max_model_len: 512,
    });
  });

  it('a conversation goes through the template, with its tools and variables', async () => {
    const { post } = await startTokenizing();
    const messages = [{ role: 'user', content: 'hi' }];
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const { body } = await post(path, { messages, tools, chat_template_kwargs: { x: 1 } });
    expect(JSON.parse(Buffer.from(body.tokens as number[]).toString())).toEqual({
      messages,
      tools,
      templateKwargs: { x: 1 },
    });
    expect(body.count).toBe((body.tokens as number[]).length);
  });

  it.each([
    [{}, 'missing_required_parameter', 'prompt'],
    [{ prompt: 'a', messages: [{ role: 'user', content: 'b' }] }, 'invalid_value', 'prompt'],
    [{ prompt: 7 }, 'invalid_type', 'prompt'],
    [{ messages: [] }, 'invalid_value', 'messages'],
    [{ prompt: 'a', model: 'none' }, 'model_not_found', 'model'],
    [{ model: 'vectors', messages: [{ role: 'user', content: 'b' }] }, 'unsupported', 'model'],
  ])('%j is refused', async (fields, code, param) => {
    const { post } = await startTokenizing();
    expect((await post(path, fields)).body.error).toMatchObject({ code, param });
  });
});

describe.each(['', '/v1'])('the route %s/detokenize', (prefix) => {
  const path = `${prefix}/detokenize`;

  it.each([
    ['ids', { tokens: [2, 97, 98] }, 'ab'],
    ['ids with special tokens', { tokens: [2, 97], skip_special_tokens: false }, '\u{2}a'],
    ['lists of them', { tokens: [[97], [98, 99]] }, ['a', 'bc']],
    ['those of an embedding model', { model: 'vectors', tokens: [97] }, 'a'],
  ])('%s', async (_, fields, text) => {
    const { post } = await startTokenizing();
    expect((await post(path, fields)).body).toEqual({ text });
  });

  it.each([
    [{}, 'missing_required_parameter', 'tokens'],
    [{ tokens: [256] }, 'invalid_value', 'tokens.0'],
    [{ tokens: [[1], [1, 256]] }, 'invalid_value', 'tokens.1.1'],
    [{ tokens: [-1] }, 'invalid_value', 'tokens.0'],
    [{ tokens: 'a' }, 'invalid_type', 'tokens'],
  ])('%j is refused', async (fields, code, param) => {
    const { post } = await startTokenizing();
    const { status, body } = await post(path, fields);
    expect([status, body.error?.code, body.error?.param]).toEqual([400, code, param]);
  });
});
