import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { accessibilityProblems } from './axe.ts';
import { expect, test } from 'vitest';
import { start } from '../server/harness.ts';
import { startImages } from '../server/images/image-harness.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();

async function checkPage(page: Page, what: string): Promise<void> {
  expect(await accessibilityProblems(page), what).toEqual([]);
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(excess, what).toBeLessThanOrEqual(0);
}

/** A conversation with replies side by side, thoughts, a call, an error, and what opens beside it. */
async function checkConversation(page: Page): Promise<void> {
  const say = async (text: string) => {
    await page.getByLabel('Message', { exact: true }).fill(text);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('article[aria-busy=true]').count()).toBe(0);
  };
  await page.getByRole('button', { name: 'Compare' }).click();
  await say(`# Long ${'word'.repeat(50)}\n\n\`\`\`js\nlet x = 1 // ${'code '.repeat(50)}\n\`\`\``);
  await page.getByRole('button', { name: 'Do not ask two' }).click();
  await page.locator('.hljs-keyword').first().waitFor();
  await say('think about it');
  await say('call weather {"city":"Rome"}');
  await say('fail out_of_memory');
  await page.getByRole('article').getByText('failed with').waitFor();
  await page.getByText('Calls weather').click();
  await checkPage(page, 'a conversation');
  await page.getByRole('button', { name: 'Settings' }).click();
  await checkPage(page, 'settings');
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Tools' }).click();
  await checkPage(page, 'tools');
  await page.keyboard.press('Escape');
  const opener = page.getByRole('button', { name: 'Conversations' });
  if (await opener.isVisible()) await opener.click();
  await page.getByLabel(/^More about/).click();
  await checkPage(page, 'the list of conversations');
}

web.test.each([
  [360, 'light'],
  [1600, 'dark'],
] as const)(
  'the page has no accessibility problem and no overflow at %i px, %s',
  async (width, colorScheme) => {
    const { url } = await start({}, { names: ['one', 'two'] });
    for (const view of ['chat', 'images', 'server']) {
      const page = await web.open(url, `#/${view}`, { viewport: { width, height: 800 }, colorScheme });
      await page.getByRole('link', { name: 'API' }).waitFor();
      await checkPage(page, view);
      if (view === 'chat') await checkConversation(page);
    }
  },
);

web.test.each([360, 1600])(
  'a gallery with content, its viewer and a mask have no accessibility problem and no overflow at %i px',
  async (width) => {
    const { url } = await startImages();
    const page = await web.open(url, '#/images', { viewport: { width, height: 800 }, colorScheme: 'dark' });
    const check = async (what: string): Promise<void> => {
      expect(await accessibilityProblems(page), what).toEqual([]);
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        what,
      ).toBeLessThanOrEqual(0);
    };
    await page
      .getByLabel('Prompt', { exact: true })
      .fill(`a house ${'of many rooms '.repeat(20)}${'a'.repeat(200)}`);
    await page.getByLabel('Images').fill('3');
    await page.getByRole('button', { name: 'Draw' }).click();
    await expect.poll(() => page.locator('.gallery button').count()).toBe(3);
    await page.getByLabel('Prompt', { exact: true }).fill('hang');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByAltText('Preview of image 1').waitFor();
    await check('gallery');
    await page.locator('.gallery button').first().click();
    await check('viewer');
    await page.getByRole('button', { name: 'Use this image' }).click();
    await page.getByText('Paint what is drawn anew').click();
    await page.getByText('More settings').click();
    await check('form');
  },
);

test('the whole page has at most 150 KB as gzip sends it', () => {
  const folder = new URL('../../dist/web/', import.meta.url);
  const sizes = readdirSync(folder)
    .filter((name) => name !== 'NOTICES.txt')
    .map((name) => gzipSync(readFileSync(new URL(name, folder))).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(150_000);
});

web.test('the page asks for the key of a server that has one, and goes on with it', async () => {
  const { url } = await start({ apiKey: 'secret' });
  web.allow(/401/);
  const page = await web.open(url, '#/server');
  await page.getByLabel('Key', { exact: true }).fill('secret');
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByText('fake-chat').first().waitFor();
});
