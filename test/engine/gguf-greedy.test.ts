// Greedy tokens of GGUF files are those that llama.cpp generates with the same files: one model for each way in which files differ from a
// checkpoint (heads in pairs with factors of the rotation, stacked experts, norms with 1 added, queries that grow,
// queries beside their keys and values, experts in MXFP4 with biases,
// heads of two sizes, parameters of an activation, norms that lack 1 with biases, matrices by columns, keys beside their queries, Mamba-2 blocks in
// three kinds of layers). test/files/gguf/converted.test.ts compares
// tensors and configurations of all architectures.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openTextModel } from '../../src/index.ts';
import { collect } from './fixture.ts';

const ROOT = fileURLToPath(new URL('../golden/gguf', import.meta.url));
const { prompt, tokens } = JSON.parse(readFileSync(`${ROOT}/greedy.json`, 'utf8')) as {
  prompt: number[];
  tokens: Record<string, number[]>;
};
const NAMES = [
  'llama',
  'qwen3-moe',
  'deepseek-v3',
  'deepseek-ocr',
  'mistral4',
  'gemma',
  'gemma3',
  'ministral3',
  'gpt-neox',
  'gpt-oss',
  'qwen3-next',
  'qwen3-5',
  'qwen3-5-moe',
  'gemma3n',
  'gemma4',
  'gemma4-e',
  'ernie4-5',
  'ernie4-5-moe',
  'hunyuan',
  'hunyuan-moe',
  'glm4-moe',
  'dots1',
  'minimax-m2',
  'granite-moe',
  'lfm2-moe',
  'bailing-moe',
  'bailing-moe-v2',
  'apertus',
  'nemotron',
  'gpt2',
  'bloom',
  'falcon',
  'granite-hybrid',
  'falcon-h1',
  'nemotron-h-moe',
  'gemma4-moe',
];

it.each(NAMES)('greedy tokens of the GGUF file %s', async (name) => {
  const model = await openTextModel({ model: `${ROOT}/${name}/model.gguf`, inline: true });
  const wanted = tokens[name]!;
  const request = { prompt: { ids: prompt }, temperature: 0, maxTokens: wanted.length, ignoreEos: true };
  expect((await collect(model.generate(request))).ids[0]).toEqual(wanted);
  await model.close();
});
