// The routes that judge texts, on a fake cross-encoder, a fake classifier of texts and of tokens, and a fake model of vectors.

import { describe, expect, it } from 'vitest';
import { type EmbeddingModelInfo, MODEL_KINDS } from '../../../src/index.ts';
import type { ServerOptions } from '../../../src/server/service/service.ts';
import { createFakeClassifier, createFakeEmbeddingModel } from '../fake-embedding-model.ts';
import { start } from '../harness.ts';

type Classifier = NonNullable<EmbeddingModelInfo['classifier']>;
const CROSS: Classifier = { per: 'text', labels: ['fits'], activation: 'sigmoid' };
const LABELS: Classifier = { per: 'text', labels: ['good', 'bad', 'other'], activation: 'softmax' };
const TOKENS: Classifier = { per: 'token', labels: ['name', 'other'], activation: 'softmax' };

interface Reply {
  [member: string]: unknown;
  object?: string;
  results?: { index: number; relevance_score: number; document?: { text: string } }[];
  data?: { index: number; score?: number; label?: string; probs?: number[]; data?: unknown }[];
  usage?: { prompt_tokens: number; total_tokens: number };
  error?: { code: string; param: string | null; message: string };
}

async function startScores(options: Partial<ServerOptions> = {}) {
  const harness = await start(options, { names: ['org/chat'] });
  const models = {
    cross: createFakeClassifier(CROSS),
    labels: createFakeClassifier(LABELS),
    tokens: createFakeClassifier(TOKENS),
    vectors: createFakeEmbeddingModel(),
  };
  for (const [name, model] of Object.entries(models))
    harness.server.addModel({ names: [`org/${name}`], kind: MODEL_KINDS.embedding }).ready(model);
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`${harness.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Reply };
  };
  return { ...harness, ...models, post };
}

const QUERY = { model: 'cross', query: 'q', documents: ['a', 'ccc', { text: 'bb' }] };

describe('a language model is refused', () => {
  const HERE = 'this server has the chat model chat at POST /v1/chat/completions';
  const JUDGE = '; Qwen3-Reranker and models like it are served with --judge';
  const ranked = { query: 'q', documents: ['a'] };
  const scored = { text_1: 'q', text_2: 'a' };

  it.each([
    ['/v1/rerank', ranked, 'a reranker or embedding model', JUDGE],
    ['/v1/score', scored, 'a reranker or embedding model', JUDGE],
    ['/v1/classify', { input: 'a' }, 'a classifier', ''],
    ['/pooling', { input: 'a' }, 'an embedding model', ''],
    ['/v1/embeddings', { input: 'a' }, 'an embedding model', ''],
  ])('at %s by what the route is for', async (path, fields, wanted, more) => {
    const { url } = await start({}, { names: ['chat'] });
    const refusal = async (model: string) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, ...fields }),
      });
      const { error } = (await response.json()) as Reply;
      return [response.status, error?.param, error?.message];
    };
    const none = `there is no ${wanted.replace(/^an? /, '')} here for POST ${path}; ${HERE}${more}`;
    expect(await refusal('default')).toEqual([404, 'model', none]);
    const not = path === '/v1/embeddings' ? '' : `, not ${wanted}`;
    const other = `chat is a chat model${not}; send it to POST /v1/chat/completions${more}`;
    expect(await refusal('chat')).toEqual([400, 'model', other]);
  });

  it('but a name that nothing has is refused alone', async () => {
    const { post } = await startScores();
    const { body } = await post('/v1/rerank', { ...QUERY, model: 'absent' });
    expect(body.error?.message).toMatch(/no model "absent" here; this server has [^;]*$/);
  });
});

describe.each(['/v1/rerank', '/rerank', '/v2/rerank'])('the route %s', (path) => {
  it('gives documents in the order of their scores', async () => {
    const { post, cross } = await startScores();
    const { status, body } = await post(path, QUERY);
    expect(status).toBe(200);
    expect(cross.requests).toEqual([{ inputs: ['a', 'ccc', 'bb'].map((pair) => ({ text: 'q', pair })) }]);
    expect(body).toMatchObject({ model: 'cross', usage: { prompt_tokens: 9, total_tokens: 9 } });
    expect(body.results).toEqual([
      { index: 1, relevance_score: 0.75, document: { text: 'ccc' } },
      { index: 2, relevance_score: 0.5, document: { text: 'bb' } },
      { index: 0, relevance_score: 0.25, document: { text: 'a' } },
    ]);
  });
});

describe('the form of a rerank reply', () => {
  it('has the best ones without their texts, if that is asked for', async () => {
    const { post } = await startScores();
    const { body } = await post('/v1/rerank', { ...QUERY, top_n: 1, return_documents: false });
    expect(body.results).toEqual([{ index: 1, relevance_score: 0.75 }]);
  });

  it.each(['instruct', 'instruction'])('follows what %s tells the model to judge by', async (name) => {
    const { post, cross } = await startScores();
    await post('/v1/rerank', { ...QUERY, [name]: 'the topic' });
    await post('/v1/score', { model: 'cross', text_1: 'q', text_2: 'a', [name]: 'the length' });
    expect(cross.requests.map(({ instruction }) => instruction)).toEqual(['the topic', 'the length']);
  });

  it('refuses both names of the instruction at once', async () => {
    const { post } = await startScores();
    const { status, body } = await post('/v1/rerank', { ...QUERY, instruct: 'a', instruction: 'b' });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('another name of instruction');
  });

  it("is TEI's for texts", async () => {
    const { post, cross } = await startScores();
    const given = { model: 'cross', query: 'q', texts: ['a', 'bb'] };
    expect((await post('/rerank', given)).body).toEqual([
      { index: 1, score: 0.5 },
      { index: 0, score: 0.25 },
    ]);
    const { body } = await post('/rerank', { ...given, raw_scores: true, return_text: true, truncate: true });
    expect(body).toEqual([
      { index: 1, score: 2, text: 'bb' },
      { index: 0, score: 1, text: 'a' },
    ]);
    expect(cross.requests[1]).toMatchObject({ truncate: -1, activation: false });
  });

  it('is the same of a model of vectors, whose scores are cosines', async () => {
    const { post } = await startScores();
    const { body } = await post('/v1/rerank', { model: 'vectors', query: 'ab', documents: ['b', 'ab'] });
    expect(body.results!.map(({ index }) => index)).toEqual([1, 0]);
    expect(body.results![0]!.relevance_score).toBeCloseTo(1);
  });
});

describe.each(['/v1/score', '/score'])('the route %s', (path) => {
  it.each([
    [{ text_1: 'q', text_2: ['a', 'bb'] }, [0.25, 0.5]],
    [{ text_1: 'q', text_2: 'a' }, [0.25]],
    [{ queries: ['q', 'p'], documents: ['bb', 'a'] }, [0.5, 0.25]],
  ])('scores %j', async (fields, scores) => {
    const { post } = await startScores();
    const { body } = await post(path, { model: 'cross', ...fields });
    expect(body).toMatchObject({ object: 'list', model: 'cross' });
    expect(body.data).toEqual(scores.map((score, index) => ({ index, object: 'score', score })));
  });
});

describe.each(['/v1/classify', '/classify'])('the route %s', (path) => {
  it('names the best label of texts, with the scores of all', async () => {
    const { post } = await startScores();
    const { body } = await post(path, { model: 'labels', input: [[7], [1, 2]] });
    expect(body.data).toEqual([
      { index: 0, label: 'bad', probs: [0.25, 0.5, 0.25], num_classes: 3 },
      { index: 1, label: 'other', probs: [0.25, 0.25, 0.5], num_classes: 3 },
    ]);
    expect(body.usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
  });
});

describe('the route /pooling', () => {
  it.each([
    ['vectors', 'embed', [97 / 256, 0, 0, 0, 0, 0, 0, 0]],
    ['cross', 'classify', [0.25]],
    ['tokens', 'token_classify', [[0.5, 0.25]]],
  ])('gives what the model %s gives', async (model, task, data) => {
    const { post } = await startScores();
    const { body } = await post('/pooling', { model, input: 'a', task });
    expect(body.data).toEqual([{ index: 0, object: 'pooling', data }]);
  });

  it('gives base64, and fewer dimensions of vectors', async () => {
    const { post, vectors } = await startScores();
    const fields = { model: 'vectors', input: 'a', dimensions: 2, encoding_format: 'base64' };
    const { body } = await post('/pooling', fields);
    expect(Buffer.from(body.data![0]!.data as string, 'base64').readFloatLE()).toBe(97 / 256);
    expect(vectors.requests).toEqual([{ inputs: ['a'], dimensions: 2 }]);
  });
});

it('truncate_prompt_tokens reaches the model', async () => {
  const { post, cross, labels } = await startScores();
  await post('/v1/rerank', { ...QUERY, truncate_prompt_tokens: 100 });
  await post('/v1/classify', { model: 'labels', input: 'a', truncate_prompt_tokens: -1 });
  expect([cross.requests[0]!.truncate, labels.requests[0]!.truncate]).toEqual([100, -1]);
});

it('use_activation false gives the values of the head', async () => {
  const { post } = await startScores();
  const { body } = await post('/v1/score', {
    model: 'cross',
    text_1: 'q',
    text_2: 'bb',
    use_activation: false,
  });
  expect(body.data![0]!.score).toBe(2);
});

describe('a request to judge texts', () => {
  it.each([
    ['/v1/rerank', { query: 'q' }, 'missing_required_parameter', 'documents'],
    ['/v1/rerank', { documents: ['a'] }, 'missing_required_parameter', 'query'],
    ['/v1/rerank', { query: 'q', documents: [] }, 'invalid_value', 'documents'],
    ['/v1/rerank', { query: 'q', documents: ['a'], texts: ['a'] }, 'invalid_value', 'texts'],
    ['/v1/rerank', { query: 'q', documents: ['a'], top_n: -1 }, 'invalid_value', 'top_n'],
    [
      '/v1/rerank',
      { query: 'q', documents: ['a'], truncate_prompt_tokens: 0 },
      'invalid_value',
      'truncate_prompt_tokens',
    ],
    ['/v1/rerank', { query: 'q', documents: ['a', 'refuse bad_request'] }, 'invalid_value', 'documents.1'],
    [
      '/v1/rerank',
      { model: 'vectors', query: 'q', documents: ['a', 'refuse bad_request'] },
      'invalid_value',
      'documents.1',
    ],
    ['/v1/rerank', { model: 'labels', query: 'q', documents: ['a'] }, 'unsupported', null],
    ['/v1/score', { text_1: 'a' }, 'missing_required_parameter', 'text_2'],
    ['/v1/score', { text_1: ['a', 'b'], text_2: ['a'] }, 'invalid_value', 'text_1'],
    ['/v1/score', { text_1: 'a', queries: 'a', text_2: 'a' }, 'invalid_value', 'queries'],
    ['/v1/classify', { model: 'vectors', input: 'a' }, 'unsupported', 'model'],
    ['/pooling', { model: 'vectors', input: 'a', task: 'classify' }, 'unsupported', 'model'],
    ['/v1/embeddings', { model: 'cross', input: 'a' }, 'unsupported', 'model'],
  ])('is refused: %s %j', async (path, fields, code, param) => {
    const { post } = await startScores();
    const { status, body } = await post(path, { model: 'cross', ...fields });
    expect([status, body.error?.code, body.error?.param]).toEqual([400, code, param]);
  });
});

it('a classifier stands in the list of models with its labels', async () => {
  const { url } = await startScores();
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  expect(data.find(({ id }) => id === 'org/labels')).toMatchObject({ labels: LABELS.labels, dimensions: 3 });
});
