// A kind of model that is registered by its own file, through the worker of a page.

import { expect } from 'vitest';
import { usePages } from './chromium.ts';

const pages = usePages({ scripts: { 'fourth-kind-page': 'test/browser/fourth-kind-page.ts' } });

pages.test('a page opens and calls models of a kind that only its own files know', async () => {
  const page = await pages.open();
  await page.waitForFunction(() => typeof echo === 'function');
  expect(await page.evaluate(() => echo('who is there'))).toEqual({
    words: ['who', 'is', 'there'],
    heard: 3,
    kind: 'echo',
  });
});
