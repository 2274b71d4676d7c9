// Prompts of a run that are drawn together.

import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { OpenImageModel } from '../../../src/cli/generate/generate.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { createFakeImageModel } from '../fake-image-model.ts';
import { generateWith } from './generate-harness.ts';

const folderOf = temporaryFolders();

it('prompts that the engine draws at once begin together, and one that fails loses only its own', async () => {
  const folder = await folderOf({});
  const fake = createFakeImageModel();
  const running: number[] = [];
  let now = 0;
  const open: OpenImageModel = async (...given) => {
    const model = await fake.open(...given);
    return {
      ...model,
      async resolve(request) {
        return { ...(await model.resolve(request)), joins: { key: 'one shape', most: 2 } };
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
    ...['--model-path', 'm', '--output-path', join(folder, 'out'), '--seed', '1'],
    ...prompts,
  ]);
  expect(code).toBe(1);
  expect(running).toEqual([1, 2, 1]);
  expect(fake.requests.map(({ prompt }) => prompt)).toEqual(['a house', 'fail internal', 'a boat']);
  expect(text.trim().split('\n')).toHaveLength(2);
});
