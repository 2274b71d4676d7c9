// The browser's quota: what is refused, what is evicted for a download, and what is not.

import { expect, test } from 'vitest';
import { modelKey } from '../../../src/files/opfs/opfs-cache.ts';
import { PrivateFolder } from '../../../src/files/opfs/storage.ts';
import { noise, sha256, tinyModel } from '../hub/mock-hub.ts';
import { IMPATIENT, ONE_PART, WEIGHTS, weightsOf } from '../hub/mock-hub-fixture.ts';
import type { MemoryStorage } from './memory-storage.ts';
import { FOLDER, originFixture, type Origin, type Tab } from './page-fixture.ts';

const PARTIAL = `${FOLDER}/blobs/${sha256(weightsOf())}.incomplete`;
/** Bytes of what the tests download. */
const NEED = [...tinyModel()].reduce(
  (sum, [name, { length }]) => (name === 'README.md' ? sum : sum + length),
  0,
);

const modelsIn = (storage: MemoryStorage): string[] =>
  [
    ...new Set(
      Object.keys(storage.files()).flatMap(
        (path) => /^svc-engine\/((models|packed)\/[^/]+)/.exec(path)?.[1] ?? [],
      ),
    ),
  ].sort();

/** Stores `bytes` under a key, as if they had been used at this point in time. */
async function store(origin: Origin, tab: Tab, key: string, bytes: number): Promise<() => Promise<void>> {
  const parts = key.split('/');
  const folder = new PrivateFolder(origin.storage.tab(), ['svc-engine', ...parts.slice(0, -1)]);
  const isModel = parts[0] === 'models';
  const place = isModel ? folder.folder(parts[1]!, 'blobs') : folder;
  const handle = await place.access(isModel ? 'blob' : parts[1]!);
  handle.write(noise(bytes, 1), { at: 0 });
  handle.close();
  const release = await tab.stores.use.hold(key);
  await new Promise((resolve) => setTimeout(resolve, 3)); // the order of use has milliseconds
  return release;
}

test('a model larger than the quota is refused before the first byte, and nothing is evicted for it', async () => {
  const origin = await originFixture();
  const tab = origin.tab();
  await (
    await store(origin, tab, modelKey('acme/old'), 50_000)
  )();
  origin.storage.quota = 200_000;
  const error = await tab.resolve().catch((failure: unknown) => failure);
  expect(error).toMatchObject({
    code: 'disk_full',
    message: expect.stringMatching(
      /^acme\/tiny needs 298 KiB more in the browser's storage, where 19\d KiB are left for this page: .*removeModel/,
    ),
  });
  expect(origin.hub.seen.map(({ path }) => path)).toEqual(['list']);
  expect(modelsIn(origin.storage)).toEqual(['models/acme--old']);
});

test('packed weights are evicted first, then models by their last use, and no more than is needed', async () => {
  const origin = await originFixture();
  const [tab, other] = [origin.tab(), origin.tab()];
  for (const key of [
    'models/acme--second',
    'models/acme--first',
    'packed/a.safetensors',
    'packed/b.safetensors',
  ])
    await (
      await store(origin, tab, key, 100_000)
    )();
  // A later use of the model that was stored first.
  await (
    await other.stores.use.hold('models/acme--second')
  )();
  origin.storage.quota = origin.storage.usage + NEED - 210_000;
  await tab.resolve();
  expect(modelsIn(origin.storage)).toEqual(['models/acme--second', 'models/acme--tiny']);
  expect([...(await tab.stores.use.times()).keys()].sort()).toEqual(modelsIn(origin.storage));
});

test('models in use by a tab are not evicted; once that tab is closed, they are', async () => {
  const origin = await originFixture();
  const [tab, other] = [origin.tab(), origin.tab()];
  await store(origin, other, 'models/acme--used', 200_000);
  origin.storage.quota = 400_000;
  await expect(tab.resolve()).rejects.toMatchObject({ code: 'disk_full' });
  expect(modelsIn(origin.storage)).toEqual(['models/acme--used']);
  other.close();
  await tab.resolve();
  expect(modelsIn(origin.storage)).toEqual(['models/acme--tiny']);
});

test('a write that the browser refuses is disk_full, and what arrived is kept', async () => {
  const origin = await originFixture();
  const tab = origin.tab();
  origin.storage.reportedQuota = 2 ** 40;
  origin.storage.quota = 150_000;
  await expect(tab.resolve({ limits: { ...IMPATIENT, partBytes: 1 << 20 } })).rejects.toMatchObject({
    code: 'disk_full',
    message: expect.stringMatching(/^acme\/tiny needs 1\d\d KiB more .* where 0 B are left for this page/),
  });
  const { [PARTIAL]: kept } = origin.storage.files();
  expect(kept).toBeGreaterThan(100_000);
  origin.storage.quota = 2 ** 30;
  const next = origin.tab();
  const { path } = await next.resolve(ONE_PART);
  expect(origin.hub.seenOf(WEIGHTS).at(-1)!.range).toBe(`bytes=${kept}-299999`);
  expect((await next.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
});

test('a refused write goes on after an eviction', async () => {
  const origin = await originFixture();
  const tab = origin.tab();
  await (
    await store(origin, tab, 'models/acme--old', 200_000)
  )();
  origin.storage.reportedQuota = 2 ** 40;
  origin.storage.quota = 400_000;
  const { path } = await tab.resolve();
  expect((await tab.read(path, WEIGHTS)).equals(weightsOf())).toBe(true);
  expect(modelsIn(origin.storage)).toEqual(['models/acme--tiny']);
});

test('a damaged record of last use costs the order only', async () => {
  const origin = await originFixture();
  const tab = origin.tab();
  await store(origin, tab, 'models/acme--old', 1000);
  await new PrivateFolder(origin.storage.tab(), ['svc-engine']).writeText(
    'last-use.json',
    '{"models/acme--old":',
  );
  expect((await tab.stores.use.times()).size).toBe(0);
  await tab.resolve();
  expect([...(await tab.stores.use.times()).keys()]).toEqual(['models/acme--tiny']);
});
