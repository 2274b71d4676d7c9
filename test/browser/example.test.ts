// The example for pages, by its own server with its content security policy: a conversation and an image.

import { afterAll, beforeAll, expect } from 'vitest';
import { serveExample } from '../../scripts/examples/browser/serve.mjs';
import { usePages } from './chromium.ts';

const pages = usePages();
let server: { url: string; close(): void };
beforeAll(async () => void (server = await serveExample()));
afterAll(() => server.close());

pages.test('the example page answers a question and draws an image', async () => {
  const page = await pages.open();
  page.setDefaultTimeout(120_000); // kernels of images compile slowly on a busy machine with an empty cache
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
  expect(await page.evaluate(() => document.querySelector('img')?.naturalWidth)).toBe(128);

  pages.allow(/404/);
  await page.fill('#chat-model', 'no such model');
  await page.click('#chat button');
  await page.waitForFunction(() =>
    document.querySelector('#status')?.textContent?.includes('model_not_found'),
  );
});
