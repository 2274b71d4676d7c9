// A model in a page whose circumstances change: timers do not fire, the page is frozen, the GPU process crashes.

import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { TextModel } from '../../src/browser.ts';
import { usePages } from './chromium.ts';
import { serveSmallChat } from './small-chat.ts';

declare global {
  var model: TextModel;
  /** Tokens of the running request so far, and all of them at its end. */
  var reply: { ids: number[]; ended: Promise<number[]> };
  /** Events of the page's life. */
  var seen: string[];
}

const pages = usePages({ whole: true });
serveSmallChat(pages);

const TOKENS = 40;
/** Tokens of a reply that mostly still runs when the crash of a process reaches the page. */
const MANY_TOKENS = 64;
/** The page learns of the crash within this time, on a busy machine. */
const SOON = { timeout: 30_000 };

async function openChat(): Promise<Page> {
  const page = await pages.open();
  await page.evaluate(async () => {
    const files = await shippedFiles('small-chat');
    globalThis.model = await svc.openTextModel({ model: files, contextLength: 256 });
  });
  return page;
}

/** Starts a request; `reply` then holds its tokens. */
async function begin(page: Page, tokens = TOKENS): Promise<void> {
  await page.evaluate((maxTokens) => {
    const messages = [{ role: 'user' as const, content: 'Tell me about the sea.' }];
    const run = async (): Promise<number[]> => {
      const request = { prompt: { messages }, maxTokens, temperature: 1, seed: 7, ignoreEos: true };
      for await (const event of model.generate(request)) {
        if (event.type === 'delta') reply.ids.push(...event.ids);
        if (event.type === 'done' && event.error) throw new Error(event.error.message);
      }
      return reply.ids;
    };
    globalThis.reply = { ids: [], ended: Promise.resolve([]) };
    reply.ended = run();
    reply.ended.catch(() => {});
  }, tokens);
}

const ended = (page: Page): Promise<number[]> => page.evaluate(() => reply.ended);
const begun = (page: Page): Promise<unknown> => page.waitForFunction(() => reply.ids.length > 2);

/** Serves the engine's worker with a statement that runs after its own. */
function patchWorker(statement: string): void {
  pages.route('/engine/engine-worker.js', (_request, response) => {
    response.setHeader('content-type', 'text/javascript');
    response.end(`import '/engine//engine-worker.js'; ${statement}`);
  });
}

pages.test('no timer of the workers delays a reply, as in a hidden tab that throttles them', async () => {
  patchWorker('globalThis.setTimeout = () => 0; globalThis.setInterval = () => 0;');
  const page = await openChat();
  await begin(page);
  expect(await ended(page)).toHaveLength(TOKENS);
});

/** Attempts to freeze a page: the browser drops one whose freezing takes seconds, as it may on a busy machine. */
const ATTEMPTS = 3;

/** A page that was left while it replied, and shown again; `whole` is a longer reply without that. */
async function frozenWhileReplying(): Promise<{ page: Page; whole: number[] }> {
  for (let attempt = 1; ; attempt++) {
    const page = await openChat();
    await begin(page, MANY_TOKENS);
    const whole = await ended(page);
    await pages.slowDown(page);
    await page.evaluate(() => {
      globalThis.seen = [];
      for (const type of ['freeze', 'resume']) document.addEventListener(type, () => seen.push(type));
      addEventListener('pageshow', ({ persisted }) => seen.push(persisted ? 'kept' : 'new'));
    });
    await begin(page);
    await begun(page);
    await page.goto(`${pages.url}list/small-chat`);
    await page.goBack({ waitUntil: 'commit' });
    const isKept = await page.evaluate(() => 'seen' in globalThis);
    if (isKept || attempt === ATTEMPTS) return { page, whole };
  }
}

pages.test(
  'a page goes on with its reply after it was frozen, and after the GPU process has crashed',
  async () => {
    patchWorker('');
    const { page, whole } = await frozenWhileReplying();
    const frozen = await ended(page);
    expect(frozen).toHaveLength(TOKENS);
    expect(whole.slice(0, TOKENS)).toEqual(frozen);
    expect(await page.evaluate(() => seen)).toEqual(['freeze', 'resume', 'kept']);
    expect(await page.evaluate(async () => (await model.metrics()).deviceRestarts)).toBe(0);

    await begin(page, MANY_TOKENS);
    await begun(page);
    pages.allow(/WebGPU|GPU|context/i);
    const browser = await page.context().browser()!.newBrowserCDPSession();
    await browser.send('Browser.crashGpuProcess').catch(() => {}); // the answer may be lost with the process
    expect(await ended(page)).toEqual(whole);
    // On a busy machine the reply may be over before the process has ended; the next one finds the device gone.
    const restartsAfterReply = async (): Promise<number> => {
      await begin(page, 1);
      await ended(page);
      return page.evaluate(async () => (await model.metrics()).deviceRestarts);
    };
    await expect.poll(restartsAfterReply, SOON).toBe(1);
  },
  120_000,
);
