// The shipped models in a page: the tokens and the pixels of Node, aborted requests, a device that is lost, two models at once.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { beforeAll, expect, vi } from 'vitest';
import { root } from '../../scripts/setup/packages.mjs';
import { decodeImage, decodeMask, openImageModel, shippedImageModelPath } from '../../src/index.ts';
import { REPLIES, REPLY_TOKENS, SCENE } from '../shipped.ts';
import { usePages } from './chromium.ts';
import type { Drawn, Reply } from './shipped-page.ts';

/** SwiftShader compiles slowly on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Tokens of a reply that still runs when the device is lost. */
const LOST_TOKENS = 20;

const BERT = join(root, 'test/golden/embedding/bert');
interface Embedded {
  text: string;
  embedding: number[];
}

const pages = usePages({
  keepDevices: true,
  scripts: { shipped: 'test/browser/shipped-page.ts' },
});

let page: Page;
beforeAll(async () => {
  page = await pages.open();
  await page.evaluate(async () => {
    globalThis.chat = await svc.openTextModel({ model: await shippedFiles('svc-chat-mini') });
  });
});

const askInPage = (...given: Parameters<typeof ask>): Promise<Reply> =>
  page.evaluate((given) => ask(...given), given);
const drawInPage = (...given: Parameters<typeof draw>): Promise<Drawn> =>
  page.evaluate((given) => draw(...given), given);

async function expectScene(image: number[] | null): Promise<void> {
  const { data } = await sharp(SCENE.path).raw().toBuffer({ resolveWithObject: true });
  expect(image!.length).toBe(data.length);
  expect(image!.filter((value, i) => Math.abs(value - data[i]!) > 1)).toHaveLength(0);
}

pages.test('the page lists the adapter that the browser offers', async () => {
  const found = await page.evaluate(async () => (await svc.adapters()).map(({ software }) => software));
  expect(found).toEqual([true]);
});

pages.test('an embedding model in a folder embeds texts as transformers does', async () => {
  const names = readdirSync(BERT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(BERT.length + 1));
  const { cases } = JSON.parse(readFileSync(join(BERT, 'embeddings.json'), 'utf8')) as { cases: Embedded[] };
  const vectors = await page.evaluate(
    async ([names, inputs]) => {
      const folder = await (
        await navigator.storage.getDirectory()
      ).getDirectoryHandle('bert', { create: true });
      for (const path of names) {
        const parts = path.split('/');
        const name = parts.pop()!;
        let inner = folder;
        for (const part of parts) inner = await inner.getDirectoryHandle(part, { create: true });
        const file = await (await inner.getFileHandle(name, { create: true })).createWritable();
        await file.write(await (await fetch(`/golden/embedding/bert/${path}`)).blob());
        await file.close();
      }
      const model = await svc.openEmbeddingModel({ model: folder });
      const vectors: number[][] = [];
      for await (const event of model.generate({ inputs }))
        if (event.type === 'embedding') vectors[event.index] = [...event.values];
      await model.close();
      return vectors;
    },
    [names, cases.map(({ text }) => text)] as const,
  );
  for (const [at, { embedding }] of cases.entries())
    for (const [i, value] of embedding.entries()) expect(vectors[at]![i]).toBeCloseTo(value, 3);
});

pages.test('the language model answers several requests at once with the tokens of Node', async () => {
  const replies = await page.evaluate(
    ([questions, tokens]) => Promise.all(questions.map((question) => ask(question, tokens))),
    [REPLIES.map(({ question }) => question), REPLY_TOKENS] as const,
  );
  expect(replies.map(({ ids }) => ids)).toEqual(REPLIES.map(({ ids }) => ids));
  expect(replies.map(({ end }) => end!.completionTokens)).toEqual(REPLIES.map(({ ids }) => ids.length));
});

pages.test('an aborted request ends at once and leaves no pages behind', async () => {
  const { question, ids } = REPLIES.at(-1)!;
  const reply = await askInPage(question, REPLY_TOKENS, 3);
  expect(reply.end).toMatchObject({ finishReason: 'abort' });
  expect(reply.ids.length).toBeLessThan(ids.length);
  expect(ids.slice(0, reply.ids.length)).toEqual(reply.ids);
  const metrics = await page.evaluate(() => chat.metrics());
  expect(metrics).toMatchObject({ running: 0, waiting: 0, pages: { used: 0 } });
});

pages.test('errors of requests cross the thread with their codes', async () => {
  const error = await page.evaluate(async () => {
    const events = chat.generate({ prompt: { ids: [99_999] } });
    const caught = (await events.next().catch((cause: unknown) => cause)) as Error & { code: string };
    return [caught instanceof svc.EngineError, caught.code, caught.message];
  });
  expect(error).toEqual([true, 'bad_request', expect.stringContaining('99999')]);
});

pages.test('a request goes on with the tokens it would have had where the device is lost', async () => {
  const { question, ids } = REPLIES.at(-1)!;
  const asked = askInPage(question, LOST_TOKENS);
  await expect
    .poll(async () => (await page.evaluate(() => chat.metrics())).running, { interval: 5, timeout: 10_000 })
    .toBe(1);
  await pages.destroyDevices(page);
  expect((await asked).ids).toEqual(ids.slice(0, LOST_TOKENS));
  expect(await page.evaluate(() => chat.metrics())).toMatchObject({ deviceRestarts: 1, running: 0 });
});

pages.test('an image that is aborted ends at once', async () => {
  await page.evaluate(async () => {
    // The autoencoder is given apart.
    const files = await shippedFiles('svc-scenes-mini');
    const vae = files.flatMap((file) =>
      file.name.startsWith('vae/') ? new File([file], file.name.slice('vae/'.length)) : [],
    );
    const model = files.filter(({ name }) => !name.startsWith('vae/'));
    globalThis.scenes = await svc.openImageModel({ model, componentPaths: { vae } });
  });
  const aborted = await drawInPage(SCENE.request, 1);
  expect(aborted).toMatchObject({ image: null, error: 'cancelled' });
  expect(aborted.types).toContain('step');
});

pages.test('the next image is that of Node within 1/255, while the language model answers', async () => {
  const { question, ids } = REPLIES[0]!;
  const [drawn, reply] = await Promise.all([
    drawInPage({ ...SCENE.request, previews: 2 }),
    askInPage(question, REPLY_TOKENS),
  ]);
  await expectScene(drawn.image);
  expect(drawn.previews.map(({ length }) => length)).toEqual(Array(2).fill(drawn.image!.length));
  expect(drawn.types.at(-1)).toBe('done');
  expect(reply.ids).toEqual(ids);
});

pages.test('the image model changes the masked part of an image file as Node does', async () => {
  await page.evaluate(() => chat.close());
  const start = await sharp(SCENE.path).resize(100, 75, { fit: 'fill' }).jpeg().toBuffer();
  const square = {
    input: Buffer.alloc(80 * 60 * 3, 255),
    raw: { width: 80, height: 60, channels: 3 as const },
  };
  const mask = await sharp({ create: { width: 160, height: 120, channels: 3, background: '#000' } })
    .composite([{ ...square, left: 40, top: 30 }])
    .png()
    .toBuffer();
  const request = { ...SCENE.request, width: 32, height: 32, steps: 4, strength: 0.25 };
  const drawn = await page.evaluate(
    async ({ request, files }) => {
      const [start, mask] = files.map((text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
      const image = await svc.decodeImage(start!, 'image');
      return draw({ ...request, image, mask: await svc.decodeMask(mask!, 'mask') });
    },
    { request, files: [start, mask].map((file) => file.toString('base64')) },
  );
  expect(drawn.error).toBeNull();
  await using model = await openImageModel({ model: shippedImageModelPath() });
  const given = { image: await decodeImage(start, 'image'), mask: await decodeMask(mask, 'mask') };
  let expected = new Uint8Array();
  for await (const event of model.generate({ ...request, ...given }))
    if (event.type === 'image') expected = new Uint8Array(event.image.data);
  expect(drawn.image!.length).toBe(expected.length);
  expect(drawn.image!.filter((value, i) => Math.abs(value - expected[i]!) > 1)).toHaveLength(0);
});
