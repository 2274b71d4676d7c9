// Listing and removing stored models.

import { expect, test } from 'vitest';
import { removeStored } from '../../../src/files/opfs/stored-models.ts';
import { describeModels } from '../../../src/files/hub/cached-models.ts';
import { commitOf, ID, noise, tinyModel } from '../hub/mock-hub.ts';
import { IMPATIENT, WEIGHTS, weightsOf } from '../hub/mock-hub-fixture.ts';
import { FOLDER, originFixture, type Tab } from './page-fixture.ts';

const remove = ({ stores }: Tab, model = ID, revision?: string) =>
  removeStored(stores.models, stores.use, model, revision);

test('a model is listed with its revisions, and an unfinished download as incomplete', async () => {
  const { hub, storage, tab } = await originFixture();
  const page = tab();
  expect(await describeModels(page.stores.models)).toEqual([]);
  hub.fault = (path) => (path === WEIGHTS ? { after: 70_000, finish: 'drop' } : undefined);
  await page
    .resolve({ limits: { ...IMPATIENT, attempts: 1, stallMs: 10_000, partBytes: 1 << 20 } })
    .catch(() => {});
  expect(await describeModels(page.stores.models)).toMatchObject([
    { id: ID, complete: false, revisions: [] },
  ]);
  hub.fault = () => undefined;
  await page.resolve();
  const inFolder = Object.entries(storage.files()).filter(([path]) => path.startsWith(FOLDER));
  expect(await describeModels(page.stores.models)).toEqual([
    {
      id: ID,
      bytes: inFolder.reduce((sum, [, bytes]) => sum + bytes, 0),
      path: `hub:${ID}`,
      files: 3,
      complete: true,
      revisions: [
        {
          commit: commitOf('one'),
          refs: ['main'],
          files: 3,
          path: `hub:${ID}/${commitOf('one')}`,
          quantizations: [],
          complete: true,
        },
      ],
    },
  ]);
});

test('a model in use is not removed; afterwards nothing of it is left', async () => {
  const { storage, tab } = await originFixture();
  const [page, other] = [tab(), tab()];
  await page.resolve();
  await expect(remove(other)).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('acme/tiny is in use by this page or another tab'),
  });
  page.close();
  const { bytes } = (await describeModels(other.stores.models))[0]!;
  expect(await remove(other)).toEqual({ id: ID, bytes });
  expect(Object.keys(storage.files())).toEqual(['svc-engine/last-use.json']);
  expect((await other.stores.use.times()).size).toBe(0);
  await expect(remove(other)).rejects.toMatchObject({ code: 'model_not_found' });
});

test('a revision goes with the files that no other revision has', async () => {
  const { hub, tab } = await originFixture();
  const weights = noise(200_000, 9);
  hub.revisions.set('next', { commit: commitOf('two'), files: tinyModel(weights) });
  const page = tab();
  await page.resolve();
  await page.resolve({ revision: 'next' });
  page.close();
  const other = tab();
  await expect(remove(other, ID, 'none')).rejects.toMatchObject({
    code: 'model_not_found',
    param: 'revision',
  });
  expect(await remove(other, ID, 'main')).toMatchObject({ id: ID });
  const [model] = await describeModels(other.stores.models);
  expect(model!.revisions.map(({ refs }) => refs)).toEqual([['next']]);
  expect(model!.bytes).toBeLessThan(weights.length + weightsOf().length);
  expect((await other.read(`hub:${ID}/${commitOf('two')}`, WEIGHTS)).equals(weights)).toBe(true);
});

test('a quantization is removed by its tag, and the model with the last one', async () => {
  const { tab } = await originFixture(
    new Map([
      ['tiny-Q4_K_M.gguf', noise(5000, 4)],
      ['tiny-Q8_0.gguf', noise(9000, 8)],
    ]),
  );
  const page = tab();
  await page.resolve({}, `${ID}:Q8_0`);
  await page.resolve({}, `${ID}:Q4_K_M`);
  page.close();
  const other = tab();
  await expect(remove(other, `${ID}:Q5_K_M`)).rejects.toMatchObject({ code: 'model_not_found' });
  const { bytes } = await remove(other, `${ID}:Q8_0`);
  expect(bytes).toBeGreaterThanOrEqual(9000);
  expect((await describeModels(other.stores.models))[0]!.revisions[0]!.quantizations).toEqual(['Q4_K_M']);
  await remove(other, `${ID}:Q4_K_M`);
  expect(await describeModels(other.stores.models)).toEqual([]);
});
