// The map that a model brings for its previews, and what is refused as one.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ownColourMap } from '../../../../src/engine/image/stages/latent-colours.ts';
import { safetensorsHead } from '../../../../src/files/tensors/safetensors.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { temporaryFolders } from '../../../files/folders.ts';

const folderOf = temporaryFolders();

async function mapOf(shape: number[], values: number[], name = 'patches') {
  const path = await folderOf({});
  const head = safetensorsHead([{ name, dtype: 'F32', shape }]);
  const data = new Uint8Array(Float32Array.from(values).buffer);
  await writeFile(join(path, 'previews.safetensors'), Buffer.concat([head, data]));
  return ownColourMap(await openDiskFolder(path), { latentChannels: 1, factor: 2 });
}

it('the colour map of a checkpoint has factors a channel and an offset, in small patches', async () => {
  const values = Array.from({ length: 24 }, (_, i) => i);
  const map = await mapOf([2, 2, 2, 3], values);
  expect(map?.side).toBe(2);
  expect([...map!.factors.slice(0, 8)]).toEqual([0, 1, 2, 0, 3, 4, 5, 0]);
  expect(map?.factors.length).toBe(32);
});

it('the colour map of a checkpoint may be missing', async () => {
  const folder = await openDiskFolder(await folderOf({}));
  expect(await ownColourMap(folder, { latentChannels: 1, factor: 2 })).toBeNull();
});

it.each([
  ['of more channels', [3, 1, 1, 3], 'patches'],
  ['of patches larger than a latent', [2, 3, 3, 3], 'patches'],
  ['of another name', [2, 1, 1, 3], 'colours'],
])('the colour map of a checkpoint is refused where it is %s', async (_, shape, name) => {
  const values = Array.from({ length: shape.reduce((a, b) => a * b) }, () => 0);
  await expect(mapOf(shape, values, name)).rejects.toMatchObject({
    code: 'bad_checkpoint',
    message: expect.stringContaining(
      'is not a map of 1 channels to colours: leave it out, or fetch it again',
    ),
  });
});

it('the colour map of a checkpoint is refused where a value is NaN or infinite', async () => {
  await expect(mapOf([2, 1, 1, 3], [0, NaN, 1, 2, -Infinity, 3])).rejects.toMatchObject({
    code: 'bad_checkpoint',
    message: expect.stringContaining('patches of previews.safetensors has 2 values that are NaN or infinite'),
  });
});
