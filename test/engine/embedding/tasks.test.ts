// Tasks of embedding models: LoRAs among a checkpoint's weights against a reference in torch, and prompts of sentence-transformers.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { EmbeddingModel, EmbeddingRequest } from '../../../src/engine/embedding/embedding-model.ts';
import { openEmbeddingModel } from '../../../src/host/node/open.ts';
import { planModel } from '../../../src/host/node/plan.ts';
import { editTensors } from '../checkpoint-folder.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/embedding/', import.meta.url));
const TOLERANCE = 2e-5;

interface Case {
  text: string;
  embedding: number[];
  /** Vectors by task. */
  tasks: Record<string, number[]>;
}

const casesOf = (name: string): Case[] =>
  (JSON.parse(readFileSync(join(GOLDEN, name, 'embeddings.json'), 'utf8')) as { cases: Case[] }).cases;
const options = (model: string) => ({ model, safe: true, memoryBudget: 2 ** 29, inline: true });

async function embed(model: EmbeddingModel, request: EmbeddingRequest): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for await (const event of model.generate(request))
    if (event.type === 'embedding') vectors[event.index] = event.values;
  return vectors;
}

function expectNear(found: Float32Array, wanted: readonly number[]): void {
  const furthest = Math.max(...wanted.map((value, i) => Math.abs(found[i]! - value)));
  expect(furthest).toBeLessThan(TOLERANCE);
}

describe('tasks of an embedding model', () => {
  it('use their LoRAs, and prompts before texts; texts of several tasks share a batch', async () => {
    await using model = await openEmbeddingModel(options(join(GOLDEN, 'jina3-tasks')));
    expect(model.info).toMatchObject({
      architecture: 'XLMRobertaFlashModel',
      tasks: ['retrieval.query', 'retrieval.passage', 'text-matching'],
    });
    const cases = casesOf('jina3-tasks');
    const requests = [...model.info.tasks!, undefined].map((task) =>
      embed(model, { inputs: cases.map(({ text }) => text), ...(task !== undefined && { task }) }),
    );
    const found = await Promise.all(requests);
    for (const [at, task] of model.info.tasks!.entries())
      cases.forEach(({ tasks }, i) => expectNear(found[at]![i]!, tasks[task]!));
    cases.forEach(({ embedding }, i) => expectNear(found.at(-1)![i]!, embedding));
    const plan = await planModel({ memoryBudget: 2 ** 29, model: join(GOLDEN, 'jina3-tasks') });
    expect(plan).toMatchObject({ kind: 'embedding', architecture: 'XLMRobertaFlashModel' });
    expect(plan.choices[0]!.weights).toBe(model.info.memory.weights);
  });

  it('are refused in a checkpoint without their LoRAs', async () => {
    const path = mkdtempSync(join(tmpdir(), 'svc-tasks-'));
    cpSync(join(GOLDEN, 'jina3-tasks'), path, { recursive: true });
    editTensors(path, (tensors) => {
      for (const name of tensors.keys()) if (/\d.*lora_[AB]$/.test(name)) tensors.delete(name);
    });
    const opened = openEmbeddingModel(options(path));
    await expect(opened).rejects.toMatchObject({ code: 'bad_checkpoint', param: 'lora_adaptations' });
    rmSync(path, { recursive: true });
  });

  it('are prompts alone where there are no LoRAs', async () => {
    const settings = {
      prompts: { query: 'query: ', usual: 'text: ', none: 1 },
      default_prompt_name: 'usual',
    };
    const path = mkdtempSync(join(tmpdir(), 'svc-tasks-'));
    cpSync(join(GOLDEN, 'bert'), path, { recursive: true });
    writeFileSync(join(path, 'config_sentence_transformers.json'), JSON.stringify(settings));
    await using model = await openEmbeddingModel(options(path));
    rmSync(path, { recursive: true });
    expect(model.info.tasks).toEqual(['query', 'usual']);
    const [asked] = await embed(model, { inputs: ['cat'], task: 'query' });
    const [usual] = await embed(model, { inputs: ['cat'] });
    const written = await Promise.all(['query: cat', 'text: cat'].map((text) => model.tokenize(text)));
    expect([asked, usual]).toEqual(await embed(model, { inputs: written }));
    await expect(embed(model, { inputs: ['cat'], task: 'other' })).rejects.toMatchObject({
      code: 'bad_request',
      param: 'task',
      message: expect.stringMatching(/task "other" is none of the model's: send "query", "usual"/) as string,
    });
    const pairs = { inputs: [{ text: 'a', pair: 'b' }], task: 'query' };
    await expect(embed(model, pairs)).rejects.toThrow(/tasks are for single texts/);
  });

  it('are refused where there are none', async () => {
    await using model = await openEmbeddingModel(options(join(GOLDEN, 'bert')));
    await expect(embed(model, { inputs: ['cat'], task: 'query' })).rejects.toThrow(
      /the files of the model name no tasks/,
    );
  });
});
