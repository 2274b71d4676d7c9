// The harness of the tests in pages: errors of a page and of its workers are collected, routes answer, a persistent profile survives a
// restart of the browser.

import { expect } from 'vitest';
import { usePages } from './chromium.ts';

const pages = usePages({ isolated: true, persistent: true });

pages.test('pages collect errors of a page and of its workers, except those that a test allows', async () => {
  const page = await pages.open();
  await page.evaluate(async () => {
    setTimeout(() => {
      throw new Error('thrown by the page');
    });
    await fetch('/nothing');
    await fetch('/nothing-allowed');
    const code = "console.error('written by a worker'); Promise.reject(new Error('rejected in a worker'));";
    void new Worker(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
  });
  pages.allow(/nothing-allowed/);
  await expect.poll(() => pages.problemCount, { timeout: 20_000 }).toBe(5);
  const problems = await pages.takeProblems();
  for (const part of ['thrown by the page', '404.*/nothing', 'written by a worker', 'rejected in a worker'])
    expect(problems).toContainEqual(expect.stringMatching(new RegExp(part)));
  expect(problems).toHaveLength(4);
});

pages.test('pages answer by routes, and keep a persistent profile over a restart', async () => {
  pages.route('/hub/', (request, response) => void response.end(request.url));
  const before = await pages.open();
  const isIsolated = await before.evaluate(async () => {
    const folder = await navigator.storage.getDirectory();
    const file = await (await folder.getFileHandle('kept', { create: true })).createWritable();
    await file.write(await (await fetch('/hub/model?file=1')).text());
    await file.close();
    return crossOriginIsolated;
  });
  expect(isIsolated).toBe(true);
  await pages.restart();
  const after = await pages.open();
  const text = await after.evaluate(async () => {
    const folder = await navigator.storage.getDirectory();
    return (await (await folder.getFileHandle('kept')).getFile()).text();
  });
  expect(text).toBe('/hub/model?file=1');
});
