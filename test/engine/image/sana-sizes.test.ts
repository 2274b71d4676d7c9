// Sizes of a Sana whose tokens are patches of latents: whole tokens fill an image, and the sizes in which it was trained.

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { changed, open } from './open-model.ts';
import { tinyPipeline } from './pipeline-golden.ts';

/** The pipeline with a transformer of 2 × 2 patches, trained in 512 pixels. */
function patched(): string {
  const folder = changed('model_index.json', {}, tinyPipeline('sana'));
  const transformer = join(folder, 'transformer');
  cpSync(join(tinyPipeline('sana-patched'), 'transformer'), transformer, { recursive: true, force: true });
  const path = join(transformer, 'config.json');
  const config = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...config, sample_size: 16 }));
  return folder;
}

it('sides of images of Sana are multiples of the pixels of a token', async () => {
  const { model } = await open({ model: patched() });
  expect(model.info.sizeMultiple).toBe(64);
  const request = { prompt: 'a house', seed: 1, steps: 1 };
  await expect(model.resolve({ ...request, width: 96, height: 64 })).rejects.toThrow(
    expect.objectContaining({ code: 'bad_request', param: 'width' }) as Error,
  );
  const draws = async () => {
    for await (const event of model.generate({ ...request, width: 192, height: 128 }))
      if (event.type === 'image') return;
  };
  await expect(draws()).rejects.toThrow(
    'use_resolution_binning draws 608 × 416, and sides of this model are multiples of 64: set it to false',
  );
  await model.close();
});
