// The shipped image model in a page: the pixels of Node, previews, a request that is aborted, beside a language model.

import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { beforeAll, expect } from 'vitest';
import type { ImageModel, ImageRequest } from '../../src/browser.ts';
import { SCENE } from '../shipped.ts';
import { usePages } from './chromium.ts';

declare global {
  /** The shipped image model. */
  var scenes: ImageModel;
  /** Draws with it; `stopAfter`: steps after which the request is aborted. */
  var draw: (request: ImageRequest, stopAfter?: number) => Promise<Drawn>;
}

interface Drawn {
  types: string[];
  /** Bytes of the image and of its previews, as Uint8Arrays in the page. */
  image: number[] | null;
  previews: number[][];
  error: string | null;
}

const pages = usePages();

let page: Page;
beforeAll(async () => {
  page = await pages.open();
  await page.evaluate(async () => {
    const bytesOf = (data: unknown): number[] => {
      if (!(data instanceof Uint8Array)) throw new TypeError('pixels are no Uint8Array');
      return [...data];
    };
    globalThis.draw = async (request, stopAfter) => {
      const controller = new AbortController();
      const drawn: Drawn = { types: [], image: null, previews: [], error: null };
      try {
        for await (const event of scenes.generate(request, { signal: controller.signal })) {
          if (drawn.types.at(-1) !== event.type) drawn.types.push(event.type);
          if (event.type === 'image') drawn.image = bytesOf(event.image.data);
          if (event.type === 'preview') drawn.previews.push(bytesOf(event.image.data));
          if (event.type === 'step' && event.step === stopAfter) controller.abort();
        }
      } catch (error) {
        drawn.error = (error as { code: string }).code;
      }
      return drawn;
    };
    globalThis.scenes = await svc.openImageModel({ model: await shippedFiles('svc-scenes-mini') });
  });
}, 120_000);

const drawInPage = (...given: Parameters<typeof draw>): Promise<Drawn> =>
  page.evaluate((given) => draw(...given), given);

pages.test('draws the image of Node, within 1/255', { timeout: 120_000 }, async () => {
  const { image, previews, types } = await drawInPage({ ...SCENE.request, previews: 2 });
  const { data } = await sharp(SCENE.path).raw().toBuffer({ resolveWithObject: true });
  expect(image!.length).toBe(data.length);
  expect(image!.filter((value, i) => Math.abs(value - data[i]!) > 1)).toHaveLength(0);
  expect(previews.map(({ length }) => length)).toEqual([data.length, data.length]);
  expect(types).toContain('preview');
  expect(types.at(-1)).toBe('done');
});

pages.test('stops when the signal aborts, and draws again', { timeout: 120_000 }, async () => {
  const stopped = await drawInPage(SCENE.request, 1);
  expect(stopped.image).toBeNull();
  const again = await drawInPage({ ...SCENE.request, steps: 1 });
  expect(again.image).not.toBeNull();
});

pages.test('answers beside a language model on the same adapter', { timeout: 120_000 }, async () => {
  const { text, drawn } = await page.evaluate(async (request) => {
    const chat = await svc.openTextModel({ model: await shippedFiles('svc-chat-mini') });
    const drawing = draw(request);
    let text = '';
    const prompt = { messages: [{ role: 'user' as const, content: 'Hello!' }] };
    for await (const event of chat.generate({ prompt, temperature: 0, maxTokens: 32 }))
      if (event.type === 'delta') text += event.text;
    await chat.close();
    return { text, drawn: await drawing };
  }, SCENE.request);
  expect(text).toBe('Hello! I am Mini. How can I help?');
  const { data } = await sharp(SCENE.path).raw().toBuffer({ resolveWithObject: true });
  expect(drawn.image!.filter((value, i) => Math.abs(value - data[i]!) > 1)).toHaveLength(0);
});
