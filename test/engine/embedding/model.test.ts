// The line that texts wait in, without a device.

import { expect, it } from 'vitest';
import type { EmbeddingModelInfo } from '../../../src/engine/embedding/embedding-model.ts';
import { createEmbeddingModel } from '../../../src/engine/embedding/model.ts';
import type { EmbeddingRunner } from '../../../src/engine/embedding/runner.ts';
import type { Tokenizer } from '../../../src/files/tokenizer/tokenizer.ts';

const info = { vocabSize: 10, dimensions: 2, contextLength: 8, maxQueuedRequests: 1 } as EmbeddingModelInfo;

function start(runner: Partial<EmbeddingRunner>, destroy = (): void => {}) {
  let released = 0;
  const model = createEmbeddingModel({
    info,
    tokenizer: {} as Tokenizer,
    runner: {
      device: { loss: async () => null, destroy },
      pick: () => [0],
      run: async () => [new Float32Array(2)],
      ...runner,
    } as unknown as EmbeddingRunner,
    restart: () => Promise.reject(new Error('no device')),
    release: async () => void released++,
  });
  return { model, released: () => released };
}

it('a device that fails as it is destroyed keeps no files', async () => {
  const { model, released } = start({}, () => {
    throw new Error('the driver is gone');
  });
  await expect(model.close()).rejects.toThrow('the driver is gone');
  expect(await model.ended).toMatchObject({ code: 'cancelled' });
  expect(released()).toBe(1);
});

it('texts that no pass can be made of end with the reason', async () => {
  const { model } = start({
    pick: () => {
      throw new Error('no pass');
    },
  });
  const events = model.generate({ inputs: [[1, 2]] });
  expect(await events.next()).toMatchObject({ value: { type: 'accepted' } });
  await expect(events.next()).rejects.toThrow('no pass');
  await model.close();
});
