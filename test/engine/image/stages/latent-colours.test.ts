// The map that a model brings for its previews, and what is refused as one.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LATENT_STATISTICS } from '../../../../src/engine/image/layouts/causal-autoencoder.ts';
import { colourMap, ownColourMap } from '../../../../src/engine/image/stages/latent-colours.ts';
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

const scalesOf = ({ latents_mean, latents_std }: (typeof LATENT_STATISTICS)[16 | 48]) =>
  Array.from(latents_mean, (shift, i) => ({ scale: 1 / latents_std[i]!, shift }));

it.each([
  { channels: 16 as const, first: [-0.1299, -0.1692, 0.2932], offset: [-0.1835, -0.0868, -0.336] },
  { channels: 48 as const, first: [0.0119, 0.0103, 0.0046], offset: [0.0317, -0.0878, -0.1388] },
])("Wan's latents of $channels channels have colours", ({ channels, first, offset }) => {
  const scales = scalesOf(LATENT_STATISTICS[channels]);
  const { side, factors } = colourMap(channels, scales)!;
  expect([side, factors.length]).toEqual([1, 4 * (channels + 1)]);
  expect([...factors.slice(0, 3)]).toEqual(first.map(Math.fround));
  expect([...factors.slice(-4, -1)]).toEqual(offset.map(Math.fround));
  // Other latents of as many channels have other colours, or none.
  expect(colourMap(channels, scales.slice(0, 1))).toBeNull();
  expect(colourMap(channels, scales.toReversed())).toBeNull();
});

it('the latents of FLUX.1 have colours of their own', () => {
  const { factors } = colourMap(16, [{ scale: 0.3611, shift: 0.1159 }])!;
  expect([...factors.slice(0, 3)]).toEqual([-0.0346, 0.0244, 0.0681].map(Math.fround));
});
