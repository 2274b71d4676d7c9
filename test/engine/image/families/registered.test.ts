// An image family that only the tests declare is given to the function that opens image models; it draws, and nothing else has to know it.

import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { ImageEvent, ImageModel, ImageModelOptions, ImageRequest } from '../../../../src/index.ts';
import { imageFamilies } from '../../../../src/engine/image/families/registry.ts';
import { openImage } from '../../../../src/engine/image/open.ts';
import { IMAGE } from '../../../../src/host/kinds/image.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { openInline } from '../../../../src/host/open.ts';
import { pebble, writePebble } from './pebble.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const { root, model: folder } = writePebble('pebble-small');
/** Image models of the built-in families and of this one. */
const PEBBLES: typeof IMAGE = {
  ...IMAGE,
  engine: async () => (platform, options, opening) =>
    openImage(platform, options, opening, [...imageFamilies(), pebble]),
};
const opened = (options: Partial<ImageModelOptions> = {}): Promise<ImageModel> =>
  openInline(PEBBLES, nodePlatform, { model: folder, ...options });
let model: ImageModel;
beforeAll(async () => {
  model = await opened();
});
afterAll(async () => {
  await model.close();
  rmSync(root, { recursive: true, force: true });
});

async function draw(
  request: Partial<ImageRequest> = {},
): Promise<{ events: ImageEvent[]; data: Uint8Array }> {
  const events: ImageEvent[] = [];
  for await (const event of model.generate({ prompt: 'a round stone', seed: 5, ...request }))
    events.push(event);
  const image = events.find((event) => event.type === 'image')!.image;
  return { events, data: image.data };
}

it('a registered family is known by its own names and defaults', async () => {
  expect(model.info).toMatchObject({
    pipeline: 'PebblePipeline',
    denoiser: 'PebbleStone2DModel',
    sizeMultiple: 8,
    defaults: { width: 32, height: 32, steps: 3, guidance: 0 },
  });
  expect((await model.resolve({ prompt: 'x', seed: 1 })).sources.steps).toBe('model');
});

it('a registered family draws, and each word, the seed and its call arguments change the image', async () => {
  const { events, data } = await draw();
  expect(events.filter(({ type }) => type === 'note')).toEqual([]);
  const stages = events.flatMap((event) => (event.type === 'stage' ? [event.name] : []));
  expect(stages).toEqual(['text-encoding', 'denoising', 'decoding']);
  expect(events.find(({ type }) => type === 'tokens')).toEqual({
    type: 'tokens',
    text: 3,
    image: 0,
    each: 16,
  });
  expect(events.filter(({ type }) => type === 'step')).toHaveLength(3);
  expect(new Set(data).size).toBeGreaterThan(8);
  expect((await draw()).data).toEqual(data);
  for (const other of [
    { prompt: 'a round shell' },
    { seed: 6 },
    { kwargs: { flavour: 'salt' } },
    { kwargs: { haste: 3 } },
  ])
    expect((await draw(other)).data, JSON.stringify(other)).not.toEqual(data);
});

it('a registered family starts from an image, by its rule for steps, and fills a mask', async () => {
  const grey = (level: number) => ({ width: 32, height: 32, data: new Uint8Array(3 * 32 * 32).fill(level) });
  const begun = await draw({ image: grey(200), strength: 0.5 });
  // A fraction of a step is rounded up: two of three steps run.
  expect(begun.events.filter(({ type }) => type === 'step')).toHaveLength(2);
  expect((await draw({ image: grey(20), strength: 0.5 })).data).not.toEqual(begun.data);
  expect((await draw({ image: grey(200), mask: grey(255) })).data).not.toEqual(begun.data);
});

it('a registered family refuses requests by its declaration', async () => {
  const refused = (request: Partial<ImageRequest>) => model.resolve({ prompt: 'x', seed: 1, ...request });
  await expect(refused({ kwargs: { clip_skip: 1 } })).rejects.toMatchObject({
    param: 'kwargs',
    message: expect.stringMatching(
      /^PebblePipeline has no call argument clip_skip; it takes .*flavour, haste/,
    ),
  });
  await expect(refused({ flowShift: 3 })).rejects.toThrow('flowShift is not for pebble');
  await expect(refused({ frames: 3 })).rejects.toThrow('3, and this model draws images, which have one');
  await expect(refused({ fps: 24 })).rejects.toThrow('24, and this model draws images, which have none');
  const lastImage = { width: 32, height: 32, data: new Uint8Array(3 * 32 * 32) };
  await expect(refused({ image: lastImage, lastImage })).rejects.toThrow(
    'lastImage is not for pebble: leave it out',
  );
  await expect(refused({ width: 36 })).rejects.toThrow('36, which is not a multiple of 8');
});

it('a registered family has defaults by a word in the model name', async () => {
  const swift = await opened({ modelId: 'someone/pebble-swift' });
  expect((await swift.resolve({ prompt: 'x', seed: 1 })).reasons).toMatchObject({
    steps: '"pebble-swift" in its name',
  });
  await swift.close();
});

it('a family that is not registered is refused', async () => {
  await expect(openInline(IMAGE, nodePlatform, { model: folder })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('is a PebblePipeline, which is not built in'),
  });
});
