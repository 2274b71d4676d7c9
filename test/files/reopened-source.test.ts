import { expect, it } from 'vitest';
import { ReopenedFolder, ReopenedSource } from '../../src/files/reopened-source.ts';
import type { Folder } from '../../src/files/source.ts';
import { memorySource } from './memory-source.ts';

/** A folder that counts its open files. */
function counted(size = () => 8): { folder: Folder; counts: { open: number; opened: number } } {
  const counts = { open: 0, opened: 0 };
  const folder: Folder = {
    path: '/counted',
    names: async () => ['x'],
    async open(name) {
      counts.open++;
      counts.opened++;
      const bytes = Uint8Array.from({ length: size() }, (_, i) => i);
      return { ...memorySource(name, bytes), close: async () => void counts.open-- };
    },
  };
  return { folder, counts };
}

it('a reopened source stays open until it is closed, and is then open while something reads it', async () => {
  const { folder, counts } = counted();
  const source = await ReopenedSource.open(folder, 'x');
  expect(await source.read(2, 3)).toEqual(Uint8Array.of(2, 3, 4));
  expect(counts).toEqual({ open: 1, opened: 1 });
  await source.close();
  await source.close();
  expect(counts).toEqual({ open: 0, opened: 1 });
  const target = new Uint8Array(2);
  await Promise.all([source.read(0, 8), source.readInto(6, target)]);
  expect(target).toEqual(Uint8Array.of(6, 7));
  expect(counts).toEqual({ open: 0, opened: 2 });
  source.stayOpen();
  await source.read(0, 1);
  await source.read(1, 1);
  expect(counts).toEqual({ open: 1, opened: 3 });
  await source.close();
  expect(counts.open).toBe(0);
});

it('a reopened source does not close during a reading', async () => {
  const { folder, counts } = counted();
  const source = await ReopenedSource.open(folder, 'x');
  const reading = source.read(0, 4);
  await source.close();
  expect(await reading).toHaveLength(4);
  expect(counts.open).toBe(0);
});

it('a reopened source refuses a file that has changed its size, and reads it again once it is back', async () => {
  let size = 8;
  const { folder, counts } = counted(() => size);
  const source = await ReopenedSource.open(folder, 'x');
  await source.close();
  size = 9;
  await expect(source.read(0, 1)).rejects.toMatchObject({
    code: 'bad_checkpoint',
    message: 'x in /counted had 8 bytes when it was opened, and has 9: open the model again',
  });
  expect(counts.open).toBe(0);
  size = 8;
  expect(await source.read(7, 1)).toEqual(Uint8Array.of(7));
});

it('a folder lists the sources that it opened', async () => {
  const { folder } = counted();
  const reopened = new ReopenedFolder(folder);
  const source = await reopened.open('x');
  expect(reopened.sources).toEqual([source]);
  expect(await reopened.names()).toEqual(['x']);
});
