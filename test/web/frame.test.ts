import { accessibilityProblems } from './axe.ts';
import { expect } from 'vitest';
import { start } from '../server/harness.ts';
import { startImages } from '../server/images/image-harness.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();

web.test.each([360, 1600])(
  'the page has no accessibility problem and no overflow at %i px',
  async (width) => {
    const { url } = await start();
    for (const view of ['chat', 'images', 'server']) {
      const page = await web.open(url, `#/${view}`, { viewport: { width, height: 800 } });
      await page.getByRole('link', { name: 'API' }).waitFor();
      expect(await accessibilityProblems(page), view).toEqual([]);
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        view,
      ).toBeLessThanOrEqual(0);
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

web.test('the page asks for the key of a server that has one, and goes on with it', async () => {
  const { url } = await start({ apiKey: 'secret' });
  web.allow(/401/);
  const page = await web.open(url, '#/server');
  await page.getByLabel('Key', { exact: true }).fill('secret');
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByText('fake-chat').first().waitFor();
});
