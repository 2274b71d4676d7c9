// The shipped language model in a page.

import { expect } from 'vitest';
import { usePages } from './chromium.ts';

const pages = usePages();

pages.test('a page lists the adapter that the browser offers', async () => {
  const page = await pages.open();
  const found = await page.evaluate(async () => (await svc.adapters()).map(({ software }) => software));
  expect(found).toEqual([true]);
});
