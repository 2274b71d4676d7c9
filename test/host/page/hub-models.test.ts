// Which packed weights belong to which files of a page.

import { expect, test } from 'vitest';
import { packedCache } from '../../../src/host/page/hub-models.ts';
import type { PackedEntry } from '../../../src/files/checkpoint/packed-file.ts';
import { PageStores } from '../../../src/files/opfs/stores.ts';
import type { PostedFiles } from '../../../src/files/page/model-source.ts';
import { MemoryStorage } from '../../files/opfs/memory-storage.ts';
import { originFixture } from '../../files/opfs/page-fixture.ts';
import { WEIGHTS } from '../../files/hub/mock-hub-fixture.ts';
import { tinyModel, noise } from '../../files/hub/mock-hub.ts';

const ENTRIES: PackedEntry[] = [{ name: 'a', chunks: [new Uint8Array(8)] }];
const PACKING = { quantization: 'int8', layout: 'x' };

const posted = (text: string, lastModified: number, name = 'model.safetensors'): PostedFiles => ({
  kind: 'files',
  files: [{ name, file: new File([text], 'model.safetensors', { lastModified }) }],
});

async function isKept(stores: PageStores, files: PostedFiles, path = 'page:chat'): Promise<boolean> {
  const slot = await packedCache(stores, { 'page:chat': files }).slot({
    path,
    shards: ['model.safetensors'],
    ...PACKING,
  });
  const file = await slot.read();
  await file?.close();
  return file !== null;
}

test('files of a page are identified by name, size, time of change and their end', async () => {
  const stores = new PageStores(new MemoryStorage().tab());
  const cache = packedCache(stores, { 'page:chat': posted('weights', 5) });
  await (await cache.slot({ path: 'page:chat', shards: ['model.safetensors'], ...PACKING })).write(ENTRIES);
  expect(await isKept(stores, posted('weights', 5))).toBe(true);
  expect(await isKept(stores, posted('weights', 6))).toBe(false);
  expect(await isKept(stores, posted('weights!', 5))).toBe(false);
  expect(await isKept(stores, posted('weightz', 5))).toBe(false);
  expect(await isKept(stores, posted('weights', 5, 'text/model.safetensors'), 'page:chat/text')).toBe(false);
});

test('files that the page reads itself have no identity and are never kept', async () => {
  const storage = new MemoryStorage();
  const stores = new PageStores(storage.tab());
  const files: PostedFiles = { kind: 'read', files: [{ name: 'model.safetensors', size: 7 }], port: null! };
  const slot = await packedCache(stores, { 'page:chat': files }).slot({
    path: 'page:chat',
    shards: ['model.safetensors'],
    ...PACKING,
  });
  await slot.write(ENTRIES);
  expect(await slot.read()).toBeNull();
  expect(storage.files()).toEqual({});
});

test('models of the hub are identified by the digests of their weights', async () => {
  const { hub, tab } = await originFixture();
  const page = tab();
  const slotOf = (path: string) => packedCache(page.stores, {}).slot({ path, shards: [WEIGHTS], ...PACKING });
  const { path } = await page.resolve();
  await (await slotOf(path)).write(ENTRIES);
  hub.revisions.set('same', { commit: 'c1', files: tinyModel().set('README.md', Buffer.from('# new')) });
  hub.revisions.set('other', { commit: 'c2', files: tinyModel(noise(300_000, 7)) });
  const same = await (await slotOf((await page.resolve({ revision: 'same' })).path)).read();
  expect(same).not.toBeNull();
  await same!.close();
  expect(await (await slotOf((await page.resolve({ revision: 'other' })).path)).read()).toBeNull();
});

test('names of shipped models are refused with the remedy', async () => {
  const { tab } = await originFixture();
  for (const name of ['svc-chat-mini', 'clip-tokenizer'])
    await expect(tab().resolve({}, name)).rejects.toMatchObject({
      code: 'model_not_found',
      param: 'model',
      message: expect.stringMatching(/^[\w-]+ is in the folder models .*serve its files/) as string,
    });
});

test('weights are packed each time without a private file system', async () => {
  const storage = new MemoryStorage();
  storage.isRefused = true;
  const stores = new PageStores(storage.tab());
  expect(await isKept(stores, posted('weights', 5))).toBe(false);
});
