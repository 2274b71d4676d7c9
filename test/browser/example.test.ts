// The example for pages, by its own server with its content security policy: a conversation and an image; and the page of the example for Electron.

import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { serveExample } from '../../scripts/examples/browser/serve.mjs';
import { usePages } from './chromium.ts';

const pages = usePages();
let server: { url: string; close(): void };
beforeAll(async () => void (server = await serveExample()));
afterAll(() => server.close());

pages.test('the example page answers a question and draws an image', { timeout: 120_000 }, async () => {
  const page = await pages.open();
  page.setDefaultTimeout(120_000); // kernels of images compile slowly on a busy machine with an empty cache
  // The size that the model draws by default; the file keeps its length, since the page reads it by ranges.
  await page.route('**/models/svc-scenes-mini/svc.json', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll('128', ' 32') });
  });
  await page.goto(server.url);
  await page.fill('#chat [name=prompt]', 'What is the capital of France?');
  await page.click('#chat button');
  await page.waitForSelector('#chat .stop:disabled', { state: 'attached' });
  expect(await page.textContent('#status')).toContain('Computed on');
  expect(await page.textContent('#messages .assistant')).toContain('Paris');

  await page.fill('#images [name=steps]', '1');
  await page.fill('#images [name=prompt]', 'a red balloon');
  await page.click('#images button');
  await page.waitForFunction(() => document.querySelector('#status')?.textContent?.startsWith('drawn'));
  expect(await page.evaluate(() => document.querySelector('img')?.naturalWidth)).toBe(32);

  pages.allow(/404/);
  await page.fill('#chat-model', 'no such model');
  await page.click('#chat button');
  await page.waitForFunction(() =>
    document.querySelector('#status')?.textContent?.includes('model_not_found'),
  );
});

const root = fileURLToPath(new URL('../..', import.meta.url));
const APP = 'http://localhost/';
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** Models like those of a window: a chat model that counts what it is told, and an image model with one red pixel. */
const ENGINE = `{
  const info = { name: 'counter', hasChatTemplate: true, contextLength: 1000, adapter: { description: 'a test' } };
  const common = { choice: 0, ids: [1] };
  const text = {
    info,
    renderPrompt: async () => ({ text: '', ids: [1] }),
    async *generate({ prompt }) {
      yield { type: 'delta', text: prompt.messages.length + ' messages', ...common };
      yield { type: 'done', choice: 0, finishReason: 'stop', matchedStop: null, completionTokens: 1 };
    },
  };
  const images = {
    async *generate() {
      yield { type: 'image', sample: 0, seed: 1, image: { width: 1, height: 1, data: new Uint8Array([255, 0, 0]) } };
      yield { type: 'done', milliseconds: 1500 };
    },
  };
  globalThis.svcEngine = { openTextModel: async () => text, openImageModel: async () => images };
}`;

pages.test("the page of Electron's example talks, draws, and keeps its conversation", async () => {
  const page = await pages.open();
  await page.route(`${APP}**`, (route) => {
    const path = new URL(route.request().url()).pathname.replace(/^\/node_modules\/svc-engine\//, '');
    const folder = path.startsWith('dist/') ? root : join(root, 'scripts/examples/electron');
    if (path === '/favicon.ico') return route.fulfill({ status: 204 });
    return route.fulfill({
      contentType: TYPES[extname(path)]!,
      body: readFileSync(join(folder, path), 'utf8'),
    });
  });
  await page.addInitScript(ENGINE);
  await page.goto(`${APP}src/index.html`);
  const ask = async (text: string, action: string): Promise<void> => {
    await page.fill('#prompt', text);
    await page.click(`button[value=${action}]`);
    await page.waitForSelector('#stop:disabled', { state: 'attached' });
  };
  await page.waitForFunction(() => document.querySelector('#status')?.textContent === 'counter on a test');
  await ask('one', 'chat');
  await page.reload();
  await ask('two', 'chat');
  expect(await page.locator('#messages p').allTextContents()).toEqual([
    'one',
    '1 messages',
    'two',
    '3 messages',
  ]);
  await ask('a dot', 'image');
  const pixel = await page.evaluate(() => [
    ...document.querySelector('canvas')!.getContext('2d')!.getImageData(0, 0, 1, 1).data,
  ]);
  expect(pixel).toEqual([255, 0, 0, 255]);
});
