// Embedding models as GGUF files that llama.cpp's converter made of the goldens: the same ids and vectors as of the checkpoints.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
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
])('the GGUF file %s gives the vectors of transformers', async (name, architecture, pooling, tolerance) => {
  const { cases } = JSON.parse(readFileSync(`${GOLDEN}/embedding/${name}/embeddings.json`, 'utf8')) as {
    cases: Case[];
  };
  const model = await openEmbeddingModel({ model: fileOf(name), inline: true, memoryBudget: 2 ** 29 });
  expect(model.info).toMatchObject({
    ...{ architecture, modelType: name === 'nomic' ? 'nomic_bert' : name },
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
