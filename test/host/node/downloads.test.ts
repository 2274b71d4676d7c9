// Downloads as data, a kind that is told from files, and quantizations that fit.

import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  describeDownload,
  downloadModel,
  fitModel,
  openAny,
  removeModel,
  shippedModelPath,
  type HubEvent,
} from '../../../src/index.ts';
import { noise, tinyModel } from '../../files/hub/mock-hub.ts';
import { hubFixture, IMPATIENT, WEIGHTS } from '../../files/hub/mock-hub-fixture.ts';

it('a download is described, paused, resumed and removed', async () => {
  const fixture = await hubFixture(tinyModel(noise(600_000, 8)));
  const given = { env: fixture.env, limits: IMPATIENT };
  const before = await describeDownload('acme/tiny', given);
  expect(before.files).toContainEqual({ path: WEIGHTS, size: 600_000, received: 0 });
  expect(before).toMatchObject({ id: 'acme/tiny', received: 0, complete: false });

  fixture.hub.fault = (path, count) =>
    path === WEIGHTS && count >= 5 ? { after: 1000, finish: 'stall' } : undefined;
  const paused = downloadModel('acme/tiny', { ...given, limits: { ...IMPATIENT, stallMs: 60_000 } });
  const read = async (): Promise<void> => {
    for await (const event of paused)
      if (event.type === 'progress' && event.received > 200_000) paused.abort();
  };
  await expect(read()).rejects.toMatchObject({ code: 'cancelled' });
  const { received, complete } = await describeDownload('acme/tiny', given);
  expect([received > 100_000, complete]).toEqual([true, false]);

  fixture.hub.fault = () => undefined;
  const events: HubEvent[] = [];
  const resumed = downloadModel('acme/tiny', given);
  for await (const event of resumed) events.push(event);
  expect(events.map(({ type }) => type)).toContain('resume');
  expect(events.at(-1)).toMatchObject({ type: 'done', path: (await resumed).path });
  expect(await describeDownload('acme/tiny', given)).toMatchObject({ complete: true });
  expect((await removeModel('acme/tiny', given)).bytes).toBeGreaterThan(600_000);
  expect(await describeDownload('acme/tiny', given)).toMatchObject({ received: 0 });
});

it('openAny() opens a model by what its files are, and tells the kind', async () => {
  const bert = join(import.meta.dirname, '../../golden/embedding/bert');
  await expect(openAny({ path: bert } as never)).rejects.toThrow('model is missing');
  const opened = await openAny({ model: bert, inline: true });
  if (opened.kind !== 'embedding') throw new Error(`${bert} was opened as ${opened.kind}`);
  const ranked = await opened.model.rank('Which animal?', ['A cow', 'A stone']);
  expect(ranked.map(({ score }) => Math.abs(score) <= 1.0001)).toEqual([true, true]);
  await opened.model.close();
  const shipped = await openAny({ model: shippedModelPath(), inline: true });
  expect(shipped.kind).toBe('text');
  await shipped.model.close();
  await expect(openAny('/nowhere')).rejects.toMatchObject({ code: 'model_not_found' });
});

const choice = (quantization: 'none' | 'int8' | 'int4', contextLength: number | null, opens = true) => ({
  quantization,
  contextLength,
  opens,
  weights: 1,
  scratch: 1,
  cache: 1,
});

it.each([
  [
    8192,
    [choice('int4', 8192), choice('none', 100), choice('int8', 5000)],
    {},
    { quantization: 'int8', contextLength: 5000 },
  ],
  [8192, [choice('none', 8192)], {}, { quantization: 'none' }],
  [2048, [choice('none', 2000), choice('int8', 2048)], {}, { quantization: 'int8' }],
  [
    8192,
    [choice('none', 100), choice('int8', 0, false)],
    { contextLength: 64 },
    { quantization: 'none', contextLength: 100 },
  ],
  [8192, [choice('none', 100)], {}, null],
  [null, [choice('none', null, false), choice('int4', null)], {}, { quantization: 'int4' }],
])(
  'fitModel() of a model with %j tokens and %j, asked for %j, is %j',
  (contextLength, choices, wanted, fit) => {
    expect(fitModel({ contextLength, choices }, wanted)).toEqual(fit);
  },
);

it('fitModel() refuses a context that the model does not have', () => {
  expect(() => fitModel({ contextLength: 100, choices: [] }, { contextLength: 200 })).toThrow(
    expect.objectContaining({ code: 'bad_request', param: 'contextLength' }),
  );
});
