// Models with heads against transformers: labels of texts and tokens, scores of pairs, and what the library makes of them.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { OpenedEmbeddingModel } from '../../../src/chat/extend.ts';
import type { EmbeddingRequest } from '../../../src/engine/embedding/embedding-model.ts';
import { openEmbeddingModel, openTextModel } from '../../../src/host/node/open.ts';
import { planModel } from '../../../src/host/node/plan.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/classifiers/', import.meta.url));

interface Case {
  texts: [string] | [string, string];
  ids: number[];
  types: number[];
  /** Ids with at most 24 tokens. */
  cut: number[];
  values: number[];
}

const jsonOf = (name: string, file: string): unknown =>
  JSON.parse(readFileSync(join(GOLDEN, name, file), 'utf8'));
const casesOf = (name: string): Case[] => (jsonOf(name, 'values.json') as { cases: Case[] }).cases;
const inputOf = ({ texts: [text, pair] }: Case): EmbeddingRequest['inputs'][number] =>
  pair === undefined ? text : { text, pair };

const models = new Map<string, OpenedEmbeddingModel>();
afterAll(() => Promise.all([...models.values()].map((model) => model.close())));

async function open(name: string): Promise<OpenedEmbeddingModel> {
  const options = { model: join(GOLDEN, name), safe: true, memoryBudget: 2 ** 29, inline: true };
  const model = models.get(name) ?? (await openEmbeddingModel(options));
  models.set(name, model);
  return model;
}

async function valuesOf(model: OpenedEmbeddingModel, request: EmbeddingRequest): Promise<Float32Array[]> {
  const values: Float32Array[] = [];
  for await (const event of model.generate(request))
    if (event.type === 'embedding') values[event.index] = event.values;
  return values;
}

const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value));

function softmax(values: readonly number[]): number[] {
  const sum = values.reduce((total, value) => total + Math.exp(value), 0);
  return values.map((value) => Math.exp(value) / sum);
}

function expectNear(found: Float32Array, wanted: readonly number[], tolerance = 1e-4): void {
  expect(found.length).toBe(wanted.length);
  expect(Math.max(...wanted.map((value, i) => Math.abs(found[i]! - value)))).toBeLessThan(tolerance);
}

const HEADS = [
  ['cross-encoder', 'BertForSequenceClassification', 'text', 1, 'none'],
  ['xlm-roberta', 'XLMRobertaForSequenceClassification', 'text', 1, 'sigmoid'],
  ['distilbert', 'DistilBertForSequenceClassification', 'text', 3, 'sigmoid'],
  ['bert-tokens', 'BertForTokenClassification', 'token', 5, 'softmax'],
  ['roberta-spans', 'RobertaForQuestionAnswering', 'token', 2, 'none'],
  ['modernbert', 'ModernBertForSequenceClassification', 'text', 1, 'sigmoid'],
  ['deberta', 'DebertaV2ForSequenceClassification', 'text', 1, 'sigmoid'],
  ['deberta-tokens', 'DebertaV2ForTokenClassification', 'token', 3, 'softmax'],
  ['deberta-conv', 'DebertaV2ForSequenceClassification', 'text', 3, 'softmax'],
  ['gte', 'GteForSequenceClassification', 'text', 1, 'sigmoid'],
  ['jina-rank1', 'JinaBertForSequenceClassification', 'text', 1, 'sigmoid'],
  ['jina-rank2', 'XLMRobertaFlashForSequenceClassification', 'text', 1, 'sigmoid'],
  ['judge', 'Qwen3ForCausalLM', 'text', 1, 'none'],
  ['qwen3', 'Qwen3ForSequenceClassification', 'text', 1, 'sigmoid'],
  ['neox', 'GPTNeoXForSequenceClassification', 'text', 3, 'softmax'],
] as const;

describe.each(HEADS)('the classifier %s', (name, architecture, per, count, activation) => {
  it('gives the values of transformers, in a batch as alone', async () => {
    const model = await open(name);
    expect(model.info).toMatchObject({ architecture, dimensions: count, normalized: false });
    expect(model.info.classifier).toMatchObject({ per, activation });
    const cases = casesOf(name);
    const together = await valuesOf(model, { inputs: cases.map(inputOf), activation: false });
    cases.forEach(({ values }, at) => expectNear(together[at]!, values));
    for (const [at, one] of cases.entries()) {
      const [alone] = await valuesOf(model, { inputs: [inputOf(one)], activation: false });
      expect(alone).toEqual(together[at]);
    }
  });

  it('makes scores of them', async () => {
    const model = await open(name);
    const [{ values }] = casesOf(name) as [Case];
    const [scores] = await valuesOf(model, { inputs: [inputOf(casesOf(name)[0]!)] });
    const rows = Array.from({ length: values.length / count }, (_, i) =>
      values.slice(i * count, (i + 1) * count),
    );
    const wanted = { none: values, sigmoid: values.map(sigmoid), softmax: rows.flatMap(softmax) };
    expectNear(scores!, wanted[activation]);
  });
});

it.each(HEADS.map(([name]) => name).filter((name) => name !== 'judge'))(
  'pairs of %s are joined and cut as by the tokenizers library',
  (name) => {
    const tokenizer = openTokenizer({
      tokenizerJson: jsonOf(name, 'tokenizer.json') as Record<string, unknown>,
      tokenizerConfig: jsonOf(name, 'tokenizer_config.json') as Record<string, unknown>,
    });
    for (const { texts, ids, types, cut } of casesOf(name)) {
      const [text, pair] = texts;
      if (pair === undefined) {
        expect(tokenizer.encode(text)).toEqual(ids);
        expect(tokenizer.encode(text, { most: 24 })).toEqual(cut);
      } else {
        expect(tokenizer.encodePair(text, pair)).toEqual({ ids, types });
        expect(tokenizer.encodePair(text, pair, 24).ids).toEqual(cut);
      }
    }
  },
);

describe('a cross-encoder in the library', () => {
  it('scores and ranks texts for a query', async () => {
    const model = await open('xlm-roberta');
    const pairs = casesOf('xlm-roberta').filter(({ texts }) => texts.length === 2);
    const [query] = pairs[0]!.texts;
    const texts = pairs.filter(({ texts: [first] }) => first === query).map(({ texts: [, pair] }) => pair!);
    const scores = await model.score(query, texts);
    scores.forEach((score, at) => expect(score).toBeCloseTo(sigmoid(pairs[at]!.values[0]!), 4));
    const ranked = await model.rank(query, texts);
    expect(ranked.map(({ score }) => score)).toEqual(scores.toSorted((a, b) => b - a));
    expect(await model.rank(query, texts, { top: 1 })).toEqual([ranked[0]]);
  });

  it('is refused what it does not compute', async () => {
    const cross = await open('cross-encoder');
    await expect(cross.embed('a')).rejects.toMatchObject({ code: 'unsupported' });
    await expect(valuesOf(cross, { inputs: ['a'], dimensions: 1 })).rejects.toMatchObject({
      param: 'dimensions',
    });
    await expect((await open('distilbert')).score('a', ['b'])).rejects.toThrow(/it has 3 labels/);
    await expect((await open('bert-tokens')).classify('a')).rejects.toThrow(/no labels of whole texts/);
    await expect(openTextModel({ model: join(GOLDEN, 'cross-encoder'), inline: true })).rejects.toMatchObject(
      {
        code: 'unsupported',
      },
    );
  });

  it('is planned as an embedding model', async () => {
    const plan = await planModel({ model: join(GOLDEN, 'cross-encoder') });
    expect(plan).toMatchObject({ kind: 'embedding', architecture: 'BertForSequenceClassification' });
  });
});

it('a pair is written by the template of roles that a checkpoint has, and its document is cut', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-judge-'));
  cpSync(join(GOLDEN, 'qwen3'), folder, { recursive: true });
  writeFileSync(
    join(folder, 'chat_template.jinja'),
    `Judge: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }} by
{% for message in messages if message.role == 'document' %}{{ message.content }}{% endfor %}, yes?`,
  );
  const options = { model: folder, safe: true, memoryBudget: 2 ** 29, inline: true };
  await using model = await openEmbeddingModel(options);
  const asPair = { text: 'a cat', pair: 'the kitten rests, and rests' };
  const idsOf = (document: string): Promise<number[]> =>
    model.tokenize(`Judge: a cat by\n${document}, yes?`, { addSpecialTokens: false });
  const whole = await idsOf(asPair.pair);
  const [found, wanted] = await valuesOf(model, { inputs: [asPair, whole] });
  expect(found).toEqual(wanted);
  const cut = await idsOf('the kitten rests, and');
  const [ofCut] = await valuesOf(model, { inputs: [asPair], truncate: cut.length });
  expect(ofCut).toEqual((await valuesOf(model, { inputs: [cut] }))[0]);
  rmSync(folder, { recursive: true });
});

it('a language model that judges by its logits takes an instruction, and is planned with its head', async () => {
  const model = await open('judge');
  const [{ texts, ids, values }] = casesOf('judge').filter((one) => one.texts.length === 2) as [Case];
  const [query, document] = texts as [string, string];
  const [byIds] = await valuesOf(model, { inputs: [ids] });
  expectNear(byIds!, values);
  const usual = await model.score(query, [document]);
  expect(await model.score(query, [document], { instruction: 'the topic' })).toEqual(usual);
  expect(await model.score(query, [document], { instruction: 'the length' })).not.toEqual(usual);
  await expect(valuesOf(model, { inputs: [query], instruction: 'the topic' })).rejects.toMatchObject({
    code: 'bad_request',
    param: 'instruction',
  });
  const cross = await open('cross-encoder');
  await expect(cross.score(query, [document], { instruction: 'the topic' })).rejects.toMatchObject({
    code: 'bad_request',
    param: 'instruction',
  });
  const plan = await planModel({ model: join(GOLDEN, 'judge') });
  expect(plan).toMatchObject({ kind: 'embedding', architecture: 'Qwen3ForCausalLM' });
});

it.each([
  [{ '1_LogitScore/config.json': { true_token_id: 'yes' } }, 'bad_checkpoint', /true_token_id/],
  [
    { '1_LogitScore/config.json': { true_token_id: 9999 } },
    'bad_checkpoint',
    /token 9999 .* beyond the \d+ tokens/,
  ],
  [
    { 'chat_template.jinja': '{{ messages }}' },
    'unsupported',
    /no chat template with the roles query and document/,
  ],
  [{ 'config_sentence_transformers.json': { activation_fn: 'torch.Erf' } }, 'unsupported', /activation_fn/],
] as [Record<string, unknown>, string, RegExp][])(
  'a judge is refused with %j',
  async (files, code, message) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-judge-'));
    cpSync(join(GOLDEN, 'judge'), folder, { recursive: true });
    for (const [file, value] of Object.entries(files))
      writeFileSync(join(folder, file), typeof value === 'string' ? value : JSON.stringify(value));
    await expect(openEmbeddingModel({ model: folder, inline: true })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
    rmSync(folder, { recursive: true });
  },
);

it('a classifier names the best label of texts, which may be cut', async () => {
  const model = await open('distilbert');
  const [one, two] = casesOf('distilbert') as [Case, Case];
  const found = await model.classify([one.texts[0], two.texts[0]]);
  [one, two].forEach(({ values }, at) => {
    const best = values.indexOf(Math.max(...values));
    expect(found[at]).toMatchObject({ label: `label ${best}` });
    expect(found[at]!.score).toBeCloseTo(sigmoid(values[best]!), 4);
  });
  const long = Array.from({ length: 300 }, () => 'cat').join(' ');
  await expect(model.classify(long)).rejects.toMatchObject({ code: 'context_length_exceeded' });
  expect((await model.classify(long, { truncate: -1 })).scores).toHaveLength(3);
  await expect(model.classify('a', { truncate: 0 })).rejects.toMatchObject({ param: 'truncate' });
});
