// Downloads that must not get into the cache: wrong bytes, wrong sizes, more than the disk can hold.
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DiskCache } from '../../../src/files/hub/hub-disk.ts';
import { openHub } from '../../../src/files/hub/hub-env.ts';
import { blobOf, noise, tinyModel } from './mock-hub.ts';
import {
  expectWeights,
  firstly,
  hubFixture,
  IMPATIENT,
  ONE_PART,
  reasons,
  WEIGHTS,
  weightsOf,
  writePartial,
} from './mock-hub-fixture.ts';

test('a partial file of other bytes is detected and replaced by a fresh one', async () => {
  const fixture = await hubFixture();
  await writePartial(fixture, noise(100_000, 77));
  await expectWeights(fixture, (await fixture.resolve()).path);
  expect(reasons(fixture)[0]).toContain('sha256');
});

test('a partial file longer than the file is not continued', async () => {
  const fixture = await hubFixture();
  await writePartial(fixture, noise(300_001, 77));
  await expectWeights(fixture, (await fixture.resolve()).path);
  expect(reasons(fixture)).toEqual([]);
});

test('a file that arrives corrupt is fetched once more', async () => {
  const fixture = await hubFixture();
  fixture.hub.fault = firstly({ corrupt: true });
  const { path } = await fixture.resolve(ONE_PART);
  await expectWeights(fixture, path);
  expect(reasons(fixture)[0]).toMatch(/its sha256 is \w{64} instead of/);
});

test.each([WEIGHTS, 'config.json'])('%s is refused by name when it arrives corrupt twice', async (path) => {
  const fixture = await hubFixture();
  fixture.hub.fault = (asked) => (asked === path ? { corrupt: true } : undefined);
  const error = await fixture.resolve(ONE_PART).catch((e) => e);
  expect(error).toMatchObject({ code: 'bad_checkpoint', param: path });
  expect(error.message).toContain(`${path} of acme/tiny arrived corrupt twice`);
  const bytes = tinyModel().get(path) ?? Buffer.alloc(0);
  const left = (await readdir(join(fixture.repo, 'blobs'))).filter((name) =>
    name.startsWith(blobOf(path, bytes)),
  );
  expect(left).toEqual([]);
  expect(await readdir(join(fixture.repo, 'snapshots'))).toEqual([]);
  expect(
    fixture.hub.seenOf(path).filter(({ origin }) => origin === (path === WEIGHTS ? 'store' : 'hub')).length,
  ).toBe(2);
});

test.each([
  ['lists more than there is', (size: number) => size + 1000, {}],
  ['lists less than there is', (size: number) => size - 1000, {}],
  ['claims another size when sending', (size: number) => size, { claim: 299_000 }],
  ['sends more than it listed', (size: number) => size, { extra: 10 }],
])('a hub that %s is refused', async (_, listed, fault) => {
  const fixture = await hubFixture();
  fixture.hub.editListing = (listing) => {
    for (const file of listing.siblings ?? []) if (file.lfs) file.lfs.size = listed(file.lfs.size);
  };
  fixture.hub.fault = (path) => (path === WEIGHTS ? fault : undefined);
  for (const limits of [IMPATIENT, ONE_PART.limits]) {
    // If the last part is requested by its range, a server cannot send more.
    if ('extra' in fault && limits === IMPATIENT) continue;
    await expect(fixture.resolve({ limits })).rejects.toMatchObject({
      code: 'bad_checkpoint',
      param: WEIGHTS,
    });
  }
});

test('a model larger than the disk is refused before the first byte', async () => {
  const fixture = await hubFixture();
  fixture.hub.editListing = (listing) => {
    for (const file of listing.siblings ?? []) if (file.lfs) file.lfs.size = 8e15;
  };
  const error = await fixture.resolve().catch((e) => e);
  expect(error).toMatchObject({ code: 'disk_full' });
  expect(error.message).toMatch(/needs 7276 TiB more in .*, where [\d.]+ [KMGT]iB are free; .*HF_HOME/);
  expect(fixture.hub.seen.map(({ path }) => path)).toEqual(['list']);
});

test('a disk that fills up or cannot be written is named', async () => {
  const fixture = await hubFixture();
  const cache = new DiskCache(await openHub(fixture.env));
  const full = await cache.errorOf(Object.assign(new Error('write'), { code: 'ENOSPC' }), 'acme/tiny');
  expect(full).toMatchObject({ code: 'disk_full', message: expect.stringContaining('HF_HOME') });
  const other = new Error('something else');
  expect(await cache.errorOf(other, 'acme/tiny')).toBe(other);

  const file = join(fixture.home, 'file');
  await writeFile(file, '');
  const env = { ...fixture.env, HF_HOME: join(file, 'below') };
  await expect(fixture.resolve({ env })).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(/cannot write to the model cache .*file\/below.*HF_HOME/),
  });
});

test('a partial file that is longer than what the server has is refused', async () => {
  const fixture = await hubFixture();
  await writePartial(fixture, weightsOf());
  fixture.hub.editListing = (listing) => {
    for (const file of listing.siblings ?? []) if (file.lfs) file.lfs.size += 1000;
  };
  await expect(fixture.resolve()).rejects.toMatchObject({ code: 'bad_checkpoint', param: WEIGHTS });
  expect(reasons(fixture)[0]).toContain('no bytes from 300000 on');
});
