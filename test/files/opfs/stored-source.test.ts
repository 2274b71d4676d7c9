// Stored files that are read in place, as Chromium's workers can, with several readers at once.

import { beforeEach, expect, test, vi } from 'vitest';
import { PrivateFolder } from '../../../src/files/opfs/storage.ts';
import { storedSource } from '../../../src/files/opfs/stored-source.ts';
import { noise } from '../hub/mock-hub.ts';
import { MemoryStorage, type MemoryTab } from './memory-storage.ts';

const BYTES = noise(5000, 4);

let tabs: MemoryTab[];
let folder: PrivateFolder;
beforeEach(async () => {
  // The mode of a handle tells that the browser knows modes.
  class WithMode {
    get mode(): string {
      return 'read-only';
    }
  }
  vi.stubGlobal('FileSystemSyncAccessHandle', WithMode);
  const storage = new MemoryStorage();
  tabs = [storage.tab(), storage.tab()];
  folder = new PrivateFolder(tabs[0]!, ['blobs']);
  const handle = await folder.access('weights');
  handle.write(BYTES, { at: 0 });
  handle.close();
  return () => vi.unstubAllGlobals();
});

test('several tabs read a file in place, which cannot be removed meanwhile', async () => {
  const asFile = vi.spyOn(folder, 'file');
  const sources = [
    (await storedSource(folder, 'weights', 'model.safetensors'))!,
    (await storedSource(new PrivateFolder(tabs[1]!, ['blobs']), 'weights', 'model.safetensors'))!,
  ];
  expect(asFile).not.toHaveBeenCalled();
  for (const source of sources) {
    expect([source.name, source.size]).toEqual(['model.safetensors', BYTES.length]);
    const part = new Uint8Array(700);
    await source.readInto(1234, part);
    expect(Buffer.from(part).equals(BYTES.subarray(1234, 1934))).toBe(true);
    expect(Buffer.from(await source.read(0, 9)).equals(BYTES.subarray(0, 9))).toBe(true);
    await expect(source.read(4999, 2)).rejects.toThrow('asked for 2 bytes');
    await expect(folder.remove('weights')).rejects.toThrow('NoModificationAllowedError');
    await source.close();
  }
  await folder.remove('weights');
  expect(await storedSource(folder, 'weights', 'x')).toBeNull();
});

test('a failing read is an error that names the file', async () => {
  const source = (await storedSource(folder, 'weights', 'model.safetensors'))!;
  await source.close();
  await expect(source.read(0, 1)).rejects.toMatchObject({
    code: 'bad_checkpoint',
    param: 'model.safetensors',
  });
});

test('a file that is being written is read as it was', async () => {
  const writer = await folder.access('weights');
  const source = (await storedSource(folder, 'weights', 'x'))!;
  expect(Buffer.from(await source.read(0, source.size)).equals(BYTES)).toBe(true);
  writer.close();
});
