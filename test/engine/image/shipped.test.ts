// The shipped model draws the image in the README by the command printed under it, and names words that it does not know.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Frames, ImageModel } from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { CLIP, SCENE } from '../../shipped.ts';
import { listen, imagesOf } from './pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const inRoot = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const readme = readFileSync(inRoot('README.md'), 'utf8');
const [, path = '', prompt = '', seed] =
  /npx svc-engine generate --model-path (\S+scenes\S+) --prompt "([^"]+)" --seed (\d+)/.exec(readme) ?? [];
const shown = new RegExp(`!\\[${prompt}\\]\\(([^)]+)\\)`).exec(readme)?.[1] ?? '';

let model: ImageModel;
beforeAll(async () => void (model = await openInline(IMAGE, nodePlatform, { model: inRoot(path) })));
afterAll(() => model.close());

it(`the shipped image model draws "${prompt}" as the README shows it, in 20 steps`, async () => {
  const events = await listen(model, { prompt, seed: Number(seed) });
  expect(events.filter(({ type }) => type === 'step').length).toBe(20);
  expect(events.filter(({ type }) => type === 'unknown-words' || type === 'note')).toEqual([]);
  const [image] = imagesOf(events);
  const { data, info } = await sharp(inRoot(shown)).raw().toBuffer({ resolveWithObject: true });
  expect([image!.width, image!.height, 3]).toEqual([info.width, info.height, info.channels]);
  const far = image!.data.filter((value, i) => Math.abs(value - data[i]!) > 1);
  expect(far.length).toBeLessThanOrEqual(data.length / 1000);
});

it('the shipped image model draws the recorded image, which is also expected in Chromium', async () => {
  const [image] = imagesOf(await listen(model, SCENE.request));
  const { data } = await sharp(SCENE.path).raw().toBuffer({ resolveWithObject: true });
  expect(image!.data.length).toBe(data.length);
  expect(image!.data.filter((value, i) => Math.abs(value - data[i]!) > 1)).toHaveLength(0);
});

it('the shipped image model previews by a linear map, also where its decoder is off the device', async () => {
  const options = { model: inRoot(path), memoryBudget: 64 << 20 };
  const small = await openInline(IMAGE, nodePlatform, options);
  const request = { prompt, seed: Number(seed), steps: 10, previews: 4, width: 64, height: 64 };
  const events = await listen(small, request);
  await small.close();
  expect(events.filter(({ type }) => type === 'note')).toEqual([]);
  const previews = events.flatMap((event) => (event.type === 'preview' ? [event.image] : []));
  expect(previews.length).toBe(4);
  const [image] = imagesOf(events);
  const away = previews.map(({ width, height, data }) => {
    expect([width, height]).toEqual([image!.width, image!.height]);
    return data.reduce((sum, value, i) => sum + Math.abs(value - image!.data[i]!), 0) / data.length;
  });
  expect(away).toEqual(away.toSorted((a, b) => b - a));
  expect(away.at(-1)).toBeLessThan(12);
  // A decoder that stays on the device makes the previews in the same way.
  const others = await listen(model, request);
  expect(others.flatMap((event) => (event.type === 'preview' ? [event.image] : []))).toEqual(previews);
});

it('the shipped image model names unknown words before it draws', async () => {
  for await (const event of model.generate({ prompt: 'a red cat on a sofa', seed: 1, steps: 1 })) {
    if (event.type === 'resolved') continue;
    expect(event).toEqual({ type: 'unknown-words', words: ['cat', 'sofa'] });
    break;
  }
});

it('the shipped video model draws the recorded clip, and names words that it does not know', async () => {
  const clips = await openInline(IMAGE, nodePlatform, { model: inRoot('models/svc-clips-mini') });
  const wanted = await sharp(CLIP.path).raw().toBuffer();
  const events = await listen(clips, CLIP.request);
  await clips.close();
  expect(events.flatMap((event) => (event.type === 'unknown-words' ? event.words : []))).toEqual(['zebra']);
  const [clip] = imagesOf(events) as [Frames];
  expect([clip.width, clip.height, clip.frames]).toEqual([64, 64, 5]);
  expect(clip.data.filter((value, i) => Math.abs(value - wanted[i]!) > 1)).toHaveLength(0);
});
