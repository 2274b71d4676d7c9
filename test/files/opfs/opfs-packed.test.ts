// Packed weights and tuned variants in the browser's storage.

import { expect, onTestFinished, test, vi } from 'vitest';
import type { PackedEntry } from '../../../src/files/checkpoint/packed-file.ts';
import { PageStores } from '../../../src/files/opfs/stores.ts';
import { noise } from '../hub/mock-hub.ts';
import { MemoryStorage, type MemoryTab } from './memory-storage.ts';

const VERSION = { folder: 'hub:acme/tiny', quantization: 'int8', identity: 'one' };

const entries = (bytes = 3000): PackedEntry[] => [
  { name: 'a', chunks: [noise(bytes, 1), noise(400, 2)] },
  { name: 'b', chunks: [noise(8, 3)] },
];

const packedIn = (storage: MemoryStorage): string[] =>
  Object.keys(storage.files()).filter((path) => path.includes('/packed/'));

function originOf(): { storage: MemoryStorage; tab: MemoryTab; stores: PageStores } {
  const storage = new MemoryStorage();
  const tab = storage.tab();
  return { storage, tab, stores: new PageStores(tab) };
}

test('packed weights are read back, tensor by tensor', async () => {
  const { storage, stores } = originOf();
  expect(await stores.packed.read(VERSION)).toBeNull();
  await stores.packed.write(VERSION, entries());
  const file = (await stores.packed.read(VERSION))!;
  expect([...file.tensors.keys()]).toEqual(['a', 'b']);
  const { source, offset, bytes } = file.tensors.get('a')!;
  expect(
    Buffer.from(await source.read(offset, bytes)).equals(Buffer.concat([noise(3000, 1), noise(400, 2)])),
  ).toBe(true);
  await file.close();
  expect(packedIn(storage)).toEqual([
    expect.stringMatching(/^svc-engine\/packed\/tiny-[0-9a-f]{8}-int8-[0-9a-f]{16}\.safetensors$/),
  ]);
});

test('packed weights that were read in place can be replaced once they are closed', async () => {
  vi.stubGlobal('FileSystemSyncAccessHandle', { prototype: { mode: 'read-only' } });
  onTestFinished(() => void vi.unstubAllGlobals());
  const { storage, stores } = originOf();
  await stores.packed.write(VERSION, entries());
  const file = (await stores.packed.read(VERSION))!;
  expect(storage.content(packedIn(storage)[0]!).readers).toBe(1);
  await file.close();
  await stores.packed.write({ ...VERSION, identity: 'two' }, entries());
  expect(await stores.packed.read(VERSION)).toBeNull();
  expect(packedIn(storage)).toHaveLength(1);
});

test('another version of packed weights replaces the older one; another quantization stands beside it', async () => {
  const { storage, stores } = originOf();
  await stores.packed.write(VERSION, entries());
  expect(await stores.packed.read({ ...VERSION, identity: 'two' })).toBeNull();
  await stores.packed.write({ ...VERSION, quantization: 'int4' }, entries());
  await stores.packed.write({ ...VERSION, identity: 'two' }, entries());
  expect(packedIn(storage)).toHaveLength(2);
  expect(await stores.packed.read(VERSION)).toBeNull();
  await (await stores.packed.read({ ...VERSION, identity: 'two' }))!.close();
});

test('a packed file that differs from its checksum is removed', async () => {
  const { storage, stores } = originOf();
  await stores.packed.write(VERSION, entries());
  storage.content(packedIn(storage)[0]!).bytes[2 ** 20 + 100]! ^= 1;
  expect(await stores.packed.read(VERSION)).toBeNull();
  expect(packedIn(storage)).toEqual([]);
});

test('a packed file that a tab reads is not replaced', async () => {
  const { storage, stores } = originOf();
  await stores.packed.write(VERSION, entries());
  const other = new PageStores(storage.tab());
  const open = (await other.packed.read(VERSION))!;
  await stores.packed.write({ ...VERSION, identity: 'two' }, entries());
  expect(packedIn(storage)).toHaveLength(2);
  await open.close();
  await stores.packed.write({ ...VERSION, identity: 'three' }, entries());
  expect(packedIn(storage)).toHaveLength(1);
});

test.each(['estimate', 'write'])('a storage that is full by its %s leaves no file behind', async (by) => {
  const { storage, stores } = originOf();
  storage.quota = 2 ** 20 + 2000;
  if (by === 'write') storage.reportedQuota = 2 ** 40;
  await expect(stores.packed.write(VERSION, entries(2_000_000))).rejects.toMatchObject({
    code: 'disk_full',
    message: expect.stringMatching(
      /^tiny-.* \(packed weights, [\d.]+ \w+ so far\) needs .* are left for this page/,
    ),
  });
  expect(packedIn(storage)).toEqual([]);
});

test('weights of a model that was packed earlier make room, downloaded files do not', async () => {
  const { storage, tab, stores } = originOf();
  await stores.models.repo('acme/tiny').update(({ refs }) => refs.set('main', 'one'));
  await stores.packed.write(VERSION, entries(1_000_000));
  storage.quota = storage.usage + 1000;
  await stores.packed.write({ ...VERSION, folder: 'hub:acme/other' }, entries(1_000_000));
  expect(packedIn(storage)).toEqual([expect.stringContaining('/other-')]);
  expect(await stores.models.ids()).toEqual(['acme/tiny']);
  tab.end();
});

test('the remains of a page that was closed while it packed are removed by the next one', async () => {
  const { storage, tab, stores } = originOf();
  const halfway: PackedEntry[] = [
    {
      name: 'a',
      chunks: (async function* () {
        yield noise(4000, 1);
        await new Promise(() => {});
      })(),
    },
  ];
  void stores.packed.write(VERSION, halfway);
  await expect.poll(() => packedIn(storage)).toEqual([expect.stringMatching(/\.tmp$/)]);
  tab.end();
  const next = new PageStores(storage.tab());
  await next.packed.write(VERSION, entries());
  expect(packedIn(storage)).toEqual([expect.stringMatching(/\.safetensors$/)]);
});

test('tuned variants are kept by adapter and driver, and added to by every tab', async () => {
  const { storage, stores } = originOf();
  const adapter = { vendor: 'v', architecture: 'a', device: 'Card 9/XT', description: 'driver 1' };
  expect(await stores.tuned.read(adapter)).toEqual({});
  const other = new PageStores(storage.tab());
  await Promise.all([
    stores.tuned.add(adapter, { matmul: { rows: 16 } }),
    other.tuned.add(adapter, { conv2d: { rows: 32 } }),
  ]);
  expect(await stores.tuned.read(adapter)).toEqual({ matmul: { rows: 16 }, conv2d: { rows: 32 } });
  expect(await stores.tuned.read({ ...adapter, description: 'driver 2' })).toEqual({});
  storage.isRefused = true;
  expect(await stores.tuned.read(adapter)).toEqual({});
  await stores.tuned.add(adapter, { matmul: { rows: 8 } });
});
