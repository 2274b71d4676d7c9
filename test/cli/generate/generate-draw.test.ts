// Prompts of a run that are drawn together.

import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { OpenImageModel } from '../../../src/cli/generate/generate.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { createFakeImageModel } from '../fake-image-model.ts';
import { generateWith } from './generate-harness.ts';

const folderOf = temporaryFolders();

/** Draws three prompts, of which the second fails, by an engine that draws `most` results at once; returns how many requests ran as each began. */
async function drawTogether(most: number, seeds: string, ...more: string[]) {
  const folder = await folderOf({});
  const fake = createFakeImageModel();
  const running: number[] = [];
  let now = 0;
  const open: OpenImageModel = async (...given) => {
    const model = await fake.open(...given);
    return {
      ...model,
      async resolve(request) {
        return { ...(await model.resolve(request)), joins: { key: 'one shape', most } };
      },
      async *generate(request, options) {
        running.push(++now);
        try {
          yield* model.generate(request, options);
        } finally {
          now--;
        }
      },
    };
  };
  const prompts = ['a house', 'fail internal', 'a boat'].flatMap((prompt) => ['--prompt', prompt]);
  const { code, out: text } = await generateWith(open, [
    ...['--model-path', 'm', '--output-path', join(folder, 'out'), '--seed', seeds],
    ...prompts,
    ...more,
  ]);
  expect(code).toBe(1);
  const requests = fake.requests.map(({ prompt, seed }) => `${prompt} ${seed}`);
  return { running, requests, files: text.trim().split('\n') };
}

it('prompts that the engine draws at once begin together, and one that fails loses only its own', async () => {
  const { running, requests, files } = await drawTogether(2, '1');
  expect(running).toEqual([1, 2, 1]);
  expect(requests).toEqual(['a house 1', 'fail internal 1', 'a boat 1']);
  expect(files).toHaveLength(2);
});

it('seeds of a prompt that the engine draws at once begin together, with those of the next prompt', async () => {
  const { running, requests, files } = await drawTogether(3, '5,7');
  expect(running).toEqual([1, 2, 3, 1, 2]);
  expect(requests).toEqual(['a house 5', 'a house 7', 'fail internal 5', 'a boat 5', 'a boat 7']);
  expect(files).toHaveLength(4);
});

it('prompts of which each replica draws one at a time begin together, even where their performance is measured', async () => {
  const perf = join(await folderOf({}), 'perf.json');
  const replicas = ['--num-gpus', '2', '--dp-size', '2', '--perf-dump-path', perf];
  const { running, files } = await drawTogether(1, '1', ...replicas);
  expect(running).toEqual([1, 2, 1]);
  expect(files).toHaveLength(2);
});
