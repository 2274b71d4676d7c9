// The workers for long texts and grammars of a page's model, with and without shared memory.

import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import type { ReadableFile, TextConstraint, TextModel } from '../../src/browser.ts';
import { usePages, type Pages } from './chromium.ts';
import { serveSmallChat } from './small-chat.ts';

declare global {
  /** The model that a test has opened. */
  var model: TextModel;
}

const workers = (page: Page): number => page.workers().length;

/** Opens a model from files that the page reads itself, over a port. */
async function openReadModel(pages: Pages): Promise<Page> {
  const page = await pages.open();
  await page.evaluate(async () => {
    const files = (await shippedFiles('small-chat')).map((file): ReadableFile => ({
      name: file.name,
      size: file.size,
      read: async (offset, length) => new Uint8Array(await file.slice(offset, offset + length).arrayBuffer()),
    }));
    globalThis.model = await svc.openTextModel({ model: files, contextLength: 256 });
  });
  return page;
}

function compile(page: Page, constraint: TextConstraint, milliseconds?: number): Promise<string> {
  return page.evaluate(
    async ({ constraint, milliseconds }) => {
      const signal = milliseconds === undefined ? undefined : AbortSignal.timeout(milliseconds);
      const request = { prompt: { text: 'One' }, maxTokens: 4, temperature: 0, constraint };
      let text = '';
      try {
        for await (const event of model.generate(request, signal ? { signal } : {}))
          if (event.type === 'delta') text += event.text;
        return text;
      } catch (error) {
        return (error as { code: string }).code;
      }
    },
    { constraint, milliseconds },
  );
}

const HOSTILE: TextConstraint = { type: 'regex', pattern: '.*x.{24}' };
const SMALL: TextConstraint = { type: 'regex', pattern: '[ab]{2}' };

describe.each([false, true])('cross-origin isolated: %s', (isolated) => {
  const pages = usePages({ isolated });
  serveSmallChat(pages);

  pages.test('tokenizes a long text, ends an aborted grammar and compiles the next one', async () => {
    const page = await openReadModel(pages);
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(isolated);
    const { local, thrown } = await page.evaluate(async () => {
      const text = 'one two three '.repeat(3000);
      const local = (await model.tokenize(text)).length;
      const error = await model
        .generate({ prompt: { text } })
        .next()
        .catch((error: Error) => error);
      return { local, thrown: (error as Error).message };
    });
    expect(thrown).toContain(String(local));
    const names = page.workers().map((worker) => new URL(worker.url()).pathname.split('/').pop());
    expect(names).toContain('text-worker.js');
    expect(await compile(page, SMALL)).toMatch(/^[ab]{2}$/);
    expect(await compile(page, HOSTILE, 100)).toBe('cancelled');
    expect(await compile(page, { type: 'regex', pattern: '[cd]{3}' })).toMatch(/^[cd]{3}$/);
    await page.evaluate(() => model.close());
    await expect.poll(() => workers(page), { timeout: 30_000 }).toBe(0);
  });
});
