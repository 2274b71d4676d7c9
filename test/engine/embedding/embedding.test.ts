// Embedding models against transformers: single texts and batches, whole and truncated texts, in this thread and in another.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { EmbeddingModel, EmbeddingRequest } from '../../../src/engine/embedding/embedding-model.ts';
import { openEmbeddingModel, openTextModel } from '../../../src/host/node/open.ts';
import { MINUS_INFINITY, spoilTensor } from '../checkpoint-folder.ts';
import { CACHE } from '../fixture.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/embedding/', import.meta.url));
const TOLERANCE = 2e-5;
const TOLERANCE_F16 = 1e-3;
interface Case {
  text: string;
  ids: number[];
  embedding: number[];
}

const casesOf = (name: string): Case[] =>
  (JSON.parse(readFileSync(join(GOLDEN, name, 'embeddings.json'), 'utf8')) as { cases: Case[] }).cases;

const models = new Map<string, EmbeddingModel>();
afterAll(() => Promise.all([...models.values()].map((model) => model.close())));

async function open(name: string): Promise<EmbeddingModel> {
  const model =
    models.get(name) ?? (await openEmbeddingModel({ ...options(join(GOLDEN, name)), inline: true }));
  models.set(name, model);
  return model;
}

const options = (model: string) => ({ model, safe: true, memoryBudget: 2 ** 29 });

it('the cache of these tests is not that of the user', () =>
  expect(process.env['XDG_CACHE_HOME']).toBe(CACHE));

async function embed(model: EmbeddingModel, request: EmbeddingRequest): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for await (const event of model.generate(request))
    if (event.type === 'embedding') vectors[event.index] = event.values;
  return vectors;
}

function expectNear(found: Float32Array, wanted: readonly number[], tolerance: number): void {
  expect(found.length).toBe(wanted.length);
  const furthest = Math.max(...wanted.map((value, i) => Math.abs(found[i]! - value)));
  expect(furthest).toBeLessThan(tolerance);
}

const NAMES =
  'bert bert-26 bert-cls roberta qwen3 gemma3 modernbert nomic nomic-moe gte jina2 jina2-code jina3'.split(
    ' ',
  );
describe.each(NAMES)('the embedding model %s', (name) => {
  const tolerance = name === 'qwen3' ? TOLERANCE_F16 : TOLERANCE;

  it('gives the vectors of transformers', async () => {
    const model = await open(name);
    for (const { text, ids, embedding } of casesOf(name)) {
      expect(await model.tokenize(text)).toEqual(ids);
      const [vector] = await embed(model, { inputs: [text] });
      expectNear(vector!, embedding, tolerance);
    }
  });

  it('gives in a batch, and by token ids, what it gives alone', async () => {
    const model = await open(name);
    const cases = casesOf(name);
    const inputs = Array.from({ length: 11 }, (_, i) => cases[(3 * i) % cases.length]!);
    const together = await embed(model, { inputs: inputs.map(({ text }) => text) });
    const byIds = await embed(model, { inputs: inputs.map(({ ids }) => ids) });
    for (const [i, { text }] of inputs.entries()) {
      const [alone] = await embed(model, { inputs: [text] });
      expect(together[i]).toEqual(alone);
      expect(byIds[i]).toEqual(alone);
    }
  });

  it('cuts to fewer dimensions and brings them to length one', async () => {
    const model = await open(name);
    const [{ text, embedding }] = casesOf(name) as [Case];
    const [vector] = await embed(model, { inputs: [text], dimensions: 10 });
    const cut = embedding.slice(0, 10);
    const length = Math.hypot(...cut);
    expectNear(
      vector!,
      cut.map((value) => value / length),
      10 * tolerance,
    );
  });
});

describe('the info of an embedding model', () => {
  it('says what its files state', async () => {
    const { info } = await open('roberta');
    expect(info).toMatchObject({
      name: 'roberta',
      architecture: 'XLMRobertaModel',
      dimensions: 64,
      pooling: 'mean',
      normalized: true,
      contextLength: 126,
    });
    expect((await open('qwen3')).info).toMatchObject({
      architecture: 'Qwen3ForCausalLM',
      pooling: 'last',
      contextLength: 512,
    });
  });
});

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((path) => rmSync(path, { recursive: true })));

function changed(name: string, files: Record<string, unknown>): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-embedding-'));
  folders.push(path);
  cpSync(join(GOLDEN, name), path, { recursive: true });
  for (const [file, value] of Object.entries(files)) {
    if (value === null) rmSync(join(path, file));
    else writeFileSync(join(path, file), JSON.stringify(value));
  }
  return path;
}

describe('embedding models of other layouts', () => {
  it('take a text longer than a step in parts', async () => {
    const model = await open('qwen3');
    const ids = Array.from({ length: 500 }, (_, i) => 3 + ((i * 37) % 290));
    const [whole] = await embed(model, { inputs: [ids] });
    const short = casesOf('qwen3')[0]!;
    const [again, other] = await embed(model, { inputs: [ids, short.text] });
    expect(again).toEqual(whole);
    expectNear(other!, short.embedding, TOLERANCE_F16);
  });

  it('do not scale vectors to length one where no file asks for it', async () => {
    const modules = (
      JSON.parse(readFileSync(join(GOLDEN, 'bert', 'modules.json'), 'utf8')) as object[]
    ).slice(0, 2);
    await using model = await openEmbeddingModel({
      ...options(changed('bert', { 'modules.json': modules })),
      inline: true,
    });
    const [{ text, embedding }] = casesOf('bert') as [Case];
    const [vector] = await embed(model, { inputs: [text] });
    const length = Math.hypot(...vector!);
    expect(Math.abs(length - 1)).toBeGreaterThan(0.01);
    expectNear(
      vector!.map((value) => value / length),
      embedding,
      TOLERANCE,
    );
  });

  it('are computed without a head that config.json names beside a Pooling module', async () => {
    const stated = JSON.parse(readFileSync(join(GOLDEN, 'bert', 'config.json'), 'utf8')) as object;
    const given = options(
      changed('bert', { 'config.json': { ...stated, architectures: ['BertForTokenClassification'] } }),
    );
    await using model = await openEmbeddingModel({ ...given, inline: true });
    expect(model.info.architecture).toBe('BertModel');
  });

  it('note a context that is asked for beyond the one of the model', async () => {
    const notes: string[] = [];
    const asked = { ...options(join(GOLDEN, 'qwen3')), contextLength: 600, inline: true };
    await using model = await openEmbeddingModel(asked, (event) => {
      if (event.type === 'note') notes.push(event.message);
    });
    expect(model.info.contextLength).toBe(512);
    expect(notes).toEqual([expect.stringMatching(/contextLength` 600 is beyond the 512 tokens of one text/)]);
  });

  it('take newer names of pooling, and the length that a file states', async () => {
    await using model = await openEmbeddingModel({
      ...options(
        changed('bert-cls', {
          '1_Pooling/config.json': { pooling_mode: 'cls' },
          'sentence_bert_config.json': { max_seq_length: 32 },
        }),
      ),
      inline: true,
    });
    expect(model.info).toMatchObject({ pooling: 'cls', contextLength: 32 });
  });

  it.each([
    [
      { '1_Pooling/config.json': { pooling_mode_max_tokens: true } },
      'unsupported',
      /pooling by pooling_mode_max_tokens is not built/,
    ],
    [{ 'modules.json': [{ type: 'sentence_transformers.models.Dense' }] }, 'unsupported', /a Dense module/],
    [{ 'modules.json': { no: 'list' } }, 'bad_checkpoint', /is not a list of modules/],
    [{ 'modules.json': [] }, 'bad_checkpoint', /modules\.json in .* lists no modules/],
    ...[0, -1, 0.5, '32', true].map((most) => [
      { 'sentence_bert_config.json': { max_seq_length: most } },
      'bad_checkpoint',
      /sentence_bert_config\.json in .*: max_seq_length is /,
    ]),
    [
      { 'config.json': { architectures: ['T5EncoderModel'] } },
      'unsupported',
      /architecture is T5EncoderModel/,
    ],
    [
      { 'config.json': { architectures: ['InternVLForConditionalGeneration'] } },
      'unsupported',
      /is a language model \(InternVLFor.*\), which does not make embeddings: `openTextModel` opens it$/,
    ],
  ] as [Record<string, unknown>, string, RegExp][])('are refused with %j', async (files, code, message) => {
    const path = changed('bert', files);
    await expect(openEmbeddingModel({ ...options(path), inline: true })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
  });

  it('are refused if they are decoders that pool otherwise', async () => {
    const path = changed('qwen3', { '1_Pooling/config.json': { pooling_mode: 'mean' } });
    await expect(openEmbeddingModel({ ...options(path), inline: true })).rejects.toThrow(/pools by mean/);
  });

  it.each(['bert', 'qwen3'])('are refused with infinity in a norm, by tensor and count: %s', async (name) => {
    const path = changed(name, {});
    const tensor = name === 'bert' ? 'embeddings.LayerNorm.weight' : 'norm.weight';
    spoilTensor(path, tensor, MINUS_INFINITY, [7]);
    await expect(openEmbeddingModel({ ...options(path), inline: true })).rejects.toMatchObject({
      code: 'bad_checkpoint',
      param: tensor,
      message: expect.stringContaining(`${tensor} of model.safetensors has 1 value that is NaN`) as string,
    });
  });

  it.each(['bert', 'qwen3'])('are not language models: %s', async (name) => {
    await expect(openTextModel({ ...options(join(GOLDEN, name)), inline: true })).rejects.toMatchObject({
      code: 'unsupported',
      param: 'modules.json',
    });
  });
});

describe('bad embedding requests', () => {
  it.each([
    [{ inputs: [] }, 'bad_request', /at least 1/],
    [{ inputs: [[]] }, 'bad_request', /at least 1/],
    [{ inputs: [[100000]] }, 'bad_request', /inputs\.0\.0 is not a token id/],
    [{ inputs: ['cat'], dimensions: 65 }, 'bad_request', /from 1 to 64/],
    [{ inputs: [Array(200).fill(5)] }, 'context_length_exceeded', /inputs\.0 has 200 tokens/],
    [{ inputs: ['cat'], model: 'x' }, 'bad_request', /is unknown to a request/],
  ])('%j', async (request, code, message) => {
    const model = await open('bert');
    await expect(embed(model, request as EmbeddingRequest)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
  });

  it('a cancelled request ends, and the others go on', async () => {
    const model = await open('qwen3');
    const abort = new AbortController();
    const ids = Array.from({ length: 400 }, (_, i) => 3 + (i % 200));
    const cancelled = (async () => {
      for await (const event of model.generate({ inputs: [ids, ids] }, { signal: abort.signal }))
        if (event.type === 'accepted') setImmediate(() => abort.abort());
    })();
    const short = casesOf('qwen3')[3]!;
    const [[vector]] = await Promise.all([
      embed(model, { inputs: [short.text] }),
      expect(cancelled).rejects.toMatchObject({ code: 'cancelled' }),
    ]);
    expectNear(vector!, short.embedding, TOLERANCE_F16);
    expect((await model.metrics()).waiting).toBe(0);
  });
});

it('an embedding model runs in a thread of its own', async () => {
  await using model = await openEmbeddingModel(options(join(GOLDEN, 'bert')));
  const [{ text, ids, embedding }] = casesOf('bert') as [Case];
  const [vector] = await embed(model, { inputs: [text] });
  expectNear(vector!, embedding, TOLERANCE);
  expect(await model.tokenize(text)).toEqual(ids);
  expect(await model.tokenize(text, { addSpecialTokens: false })).toEqual(ids.slice(1, -1));
  expect(await model.detokenize(ids.slice(1, 3))).toBe('a cat');
  await expect(model.detokenize([1, model.info.vocabSize])).rejects.toMatchObject({
    code: 'bad_request',
    param: 'ids.1',
  });
  expect(await model.metrics()).toEqual({
    waiting: 0,
    texts: 1,
    promptTokens: ids.length,
    steps: 1,
    deviceRestarts: 0,
  });
});
