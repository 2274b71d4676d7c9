// Embedding models as GGUF files that llama.cpp's converter made of the goldens: the same ids and vectors as of the checkpoints.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { EmbeddingRequest } from '../../../src/engine/embedding/embedding-model.ts';
import { openEmbeddingModel, openTextModel } from '../../../src/host/node/open.ts';
import { planModel } from '../../../src/host/node/plan.ts';

const GOLDEN = fileURLToPath(new URL('../../golden', import.meta.url));
const fileOf = (name: string): string => `${GOLDEN}/gguf/embedding/${name}.gguf`;

interface Case {
  text: string;
  ids: number[];
  embedding: number[];
}

it.each([
  ['bert', 'BertModel', 'mean', 2e-5],
  ['nomic', 'NomicBertModel', 'mean', 1e-3],
  ['qwen3', 'Qwen3ForCausalLM', 'last', 1e-3],
  ['jina2', 'JinaBertModel', 'mean', 2e-5],
  ['jina2-code', 'JinaBertModel', 'mean', 2e-5],
  ['jina3-tasks', 'XLMRobertaFlashModel', 'mean', 2e-5],
])('the GGUF file %s gives the vectors of transformers', async (name, architecture, pooling, tolerance) => {
  const { cases } = JSON.parse(readFileSync(`${GOLDEN}/embedding/${name}/embeddings.json`, 'utf8')) as {
    cases: Case[];
  };
  const model = await openEmbeddingModel({ model: fileOf(name), inline: true, memoryBudget: 2 ** 29 });
  expect(model.info).toMatchObject({
    ...{
      architecture,
      ...(!name.startsWith('jina') && { modelType: name === 'nomic' ? 'nomic_bert' : name }),
    },
    ...{ pooling, normalized: true },
  });
  for (const { text, ids, embedding } of cases) {
    expect([text, await model.tokenize(text)]).toEqual([text, ids]);
    for await (const event of model.generate({ inputs: [text] })) {
      if (event.type !== 'embedding') continue;
      const furthest = Math.max(...embedding.map((value, i) => Math.abs(event.values[i]! - value)));
      expect(furthest).toBeLessThan(tolerance);
    }
  }
  await model.close();
});

it.each(['bert', 'qwen3'])(
  'the GGUF file %s is planned as an embedding model, and refused as a language model',
  async (name) => {
    expect(await planModel({ model: fileOf(name) })).toMatchObject({ kind: 'embedding' });
    await expect(openTextModel({ model: fileOf(name), inline: true })).rejects.toMatchObject({
      code: 'unsupported',
      param: 'modules.json',
      message: expect.stringMatching(/makes embeddings .*it is not a language model/),
    });
  },
);

interface Judged {
  texts: [string, string?];
  ids: number[];
  values: number[];
}

it.each([
  ['xlm-roberta', 'BertForSequenceClassification'],
  ['judge', 'Qwen3ForSequenceClassification'],
])('the GGUF file %s ranks documents as transformers', async (name, architecture) => {
  const { cases } = JSON.parse(readFileSync(`${GOLDEN}/classifiers/${name}/values.json`, 'utf8')) as {
    cases: Judged[];
  };
  const options = { model: fileOf(`${name}-rank`), inline: true, memoryBudget: 2 ** 29 };
  await using model = await openEmbeddingModel(options);
  expect(model.info).toMatchObject({ architecture, classifier: { per: 'text', activation: 'sigmoid' } });
  const pairs = cases.filter(({ texts }) => texts.length === 2);
  const scored = async (inputs: EmbeddingRequest['inputs']): Promise<number[]> => {
    const found: number[] = [];
    for await (const event of model.generate({ inputs, activation: false }))
      if (event.type === 'embedding') found[event.index] = event.values[0]!;
    return found;
  };
  const byIds = await scored(pairs.map(({ ids }) => ids));
  byIds.forEach((value, at) => expect(value).toBeCloseTo(pairs[at]!.values[0]!, 4));
  const asPairs = await scored(pairs.map(({ texts: [text, pair] }) => ({ text, pair: pair! })));
  if (name === 'judge') {
    const [{ texts }] = pairs as [Judged];
    const written = `<Query>: ${texts[0]}\n<Document>: ${texts[1]}<|im_end|>\n`;
    const template =
      'Judge whether the Document meets the requirements based on the Query and the Instruct provided. ';
    const ids = await model.tokenize(
      `<|im_start|>system\n${template}Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n${written}<|im_start|>assistant\n<think>\n\n</think>\n\n`,
      { addSpecialTokens: false },
    );
    expect(asPairs[0]).toBe((await scored([ids]))[0]);
  } else expect(asPairs).toEqual(byIds);
  const [ranked] = await model.rank(pairs[0]!.texts[0], [pairs[0]!.texts[1]!]);
  expect(ranked!.score).toBeCloseTo(1 / (1 + Math.exp(-asPairs[0]!)), 5);
});
