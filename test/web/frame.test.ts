import { accessibilityProblems } from './axe.ts';
import { expect } from 'vitest';
import { start } from '../server/harness.ts';
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

web.test('the page asks for the key of a server that has one, and goes on with it', async () => {
  const { url } = await start({ apiKey: 'secret' });
  web.allow(/401/);
  const page = await web.open(url, '#/server');
  await page.getByLabel('Key', { exact: true }).fill('secret');
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByText('fake-chat').first().waitFor();
});
