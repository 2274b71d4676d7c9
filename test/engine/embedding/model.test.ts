// The queue of waiting texts, without a device.

import { expect, it } from 'vitest';
import type { EmbeddingModel, EmbeddingModelInfo } from '../../../src/engine/embedding/embedding-model.ts';
import { LocalEmbeddingModel } from '../../../src/engine/embedding/model.ts';
import type { LoadedEmbedding } from '../../../src/engine/embedding/runner.ts';
import type { EmbeddingRunner } from '../../../src/engine/embedding/runner.ts';
import { DeviceSession } from '../../../src/host/session/device-session.ts';
import { EMBEDDING } from '../../../src/host/kinds/embedding.ts';
import { localModel } from '../../../src/host/session/local-model.ts';
import { Opening } from '../../../src/host/session/opening.ts';
import type { Tokenizer } from '../../../src/files/tokenizer/tokenizer.ts';
import type { Device } from '../../../src/gpu/device.ts';

const info = { vocabSize: 10, dimensions: 2, contextLength: 8, maxQueuedRequests: 1 } as EmbeddingModelInfo;

async function start(runner: Partial<EmbeddingRunner>, destroy = (): void => {}) {
  let released = 0;
  const device = { loss: async () => null, destroy } as unknown as Device;
  const paper = {
    device,
    pick: () => [0],
    run: async () => [new Float32Array(2)],
    ...runner,
  } as unknown as EmbeddingRunner;
  const model = await Opening.run(
    () => {},
    undefined,
    async (opening) => {
      opening.defer(() => void released++);
      const session = await DeviceSession.open<LoadedEmbedding>(opening, {
        openDevice: async () => device,
        load: async () => ({ device, runner: paper, quantization: 'none' }),
      });
      const service = new LocalEmbeddingModel(info, {} as Tokenizer, session);
      return localModel<EmbeddingModel>(service, session, EMBEDDING.calls);
    },
  );
  return { model, released: () => released };
}

it('a device that fails as it is destroyed leaves no file open', async () => {
  const { model, released } = await start({}, () => {
    throw new Error('the driver is gone');
  });
  await expect(model.close()).rejects.toThrow('the driver is gone');
  expect(await model.ended).toMatchObject({ code: 'cancelled' });
  expect(released()).toBe(1);
});

it('a request that is sent while another gets its last vector is computed', async () => {
  const { model } = await start({});
  const texts: string[] = [];
  const ask = async (name: string): Promise<void> => {
    for await (const { type } of model.generate({ inputs: [[1, 2]] }))
      if (type === 'embedding') texts.push(name);
  };
  for (const name of ['first', 'second', 'third']) await ask(name);
  await Promise.all([ask('fourth').then(() => ask('sixth')), ask('fifth')]);
  expect(texts.toSorted()).toEqual(['fifth', 'first', 'fourth', 'second', 'sixth', 'third']);
  await model.close();
});

it('texts that no pass can be made of end with the reason', async () => {
  const { model } = await start({
    pick: () => {
      throw new Error('no pass');
    },
  });
  const events = model.generate({ inputs: [[1, 2]] });
  expect(await events.next()).toMatchObject({ value: { type: 'accepted' } });
  await expect(events.next()).rejects.toThrow('no pass');
  await model.close();
});
