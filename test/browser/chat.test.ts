// The shipped language model in a page: the tokens of Node, requests that end early, a device that is lost.

import type { Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import type { TextEvent, TextModel } from '../../src/browser.ts';
import { REPLIES, REPLY_TOKENS } from '../shipped.ts';
import { usePages } from './chromium.ts';

declare global {
  /** The shipped language model. */
  var chat: TextModel;
  /** Asks it for a greedy reply; `stopAfter`: tokens after which the request is aborted. */
  var ask: (question: string, maxTokens: number, stopAfter?: number) => Promise<Reply>;
}

interface Reply {
  ids: number[];
  text: string;
  end: Extract<TextEvent, { type: 'done' }> | null;
}

const pages = usePages({ keepDevices: true });

let page: Page;
beforeAll(async () => {
  page = await pages.open();
  await page.evaluate(async () => {
    globalThis.ask = async (question, maxTokens, stopAfter) => {
      const controller = new AbortController();
      const reply: Reply = { ids: [], text: '', end: null };
      const request = {
        prompt: { messages: [{ role: 'user' as const, content: question }] },
        temperature: 0,
        maxTokens,
      };
      for await (const event of chat.generate(request, { signal: controller.signal })) {
        if (event.type === 'done') reply.end = event;
        if (event.type !== 'delta') continue;
        reply.ids.push(...event.ids);
        reply.text += event.text;
        if (reply.ids.length === stopAfter) controller.abort();
      }
      return reply;
    };
    globalThis.chat = await svc.openTextModel({ model: await shippedFiles('svc-chat-mini') });
  });
}, 120_000);

const askInPage = (...given: Parameters<typeof ask>): Promise<Reply> =>
  page.evaluate((given) => ask(...given), given);

pages.test('the page lists the adapter that the browser offers', async () => {
  const found = await page.evaluate(async () => (await svc.adapters()).map(({ software }) => software));
  expect(found).toEqual([true]);
});

pages.test.each(REPLIES)('answers "$question" with the tokens of Node', async ({ question, ids }) => {
  const reply = await askInPage(question, REPLY_TOKENS);
  expect(reply.ids).toEqual(ids);
  expect(reply.end!.completionTokens).toBe(ids.length);
});

pages.test('answers several requests at once as it does alone', async () => {
  const replies = await page.evaluate(
    ([questions, tokens]) => Promise.all(questions.map((question) => ask(question, tokens))),
    [REPLIES.map(({ question }) => question), REPLY_TOKENS] as const,
  );
  expect(replies.map(({ ids }) => ids)).toEqual(REPLIES.map(({ ids }) => ids));
});

pages.test('an aborted request ends at once and leaves no pages behind', async () => {
  const { question, ids } = REPLIES.at(-1)!;
  const reply = await askInPage(question, REPLY_TOKENS, 3);
  expect(reply.end).toMatchObject({ finishReason: 'abort' });
  expect(reply.ids.length).toBeLessThan(ids.length);
  expect(ids.slice(0, reply.ids.length)).toEqual(reply.ids);
  const metrics = await page.evaluate(() => chat.metrics());
  expect(metrics).toMatchObject({ running: 0, waiting: 0, pages: { used: 0 } });
});

pages.test('a request goes on with the tokens it would have had where the device is lost', async () => {
  const { question, ids } = REPLIES.at(-1)!;
  const asked = askInPage(question, REPLY_TOKENS);
  await expect
    .poll(async () => (await page.evaluate(() => chat.metrics())).running, { interval: 5, timeout: 10_000 })
    .toBe(1);
  await pages.destroyDevices(page);
  expect((await asked).ids).toEqual(ids);
  expect(await page.evaluate(() => chat.metrics())).toMatchObject({ deviceRestarts: 1, running: 0 });
});

pages.test('errors of requests cross the thread with their codes', async () => {
  const error = await page.evaluate(async () => {
    const events = chat.generate({ prompt: { ids: [99_999] } });
    const caught = (await events.next().catch((cause: unknown) => cause)) as Error & { code: string };
    return [caught instanceof svc.EngineError, caught.code, caught.message];
  });
  expect(error).toEqual([true, 'bad_request', expect.stringContaining('99999')]);
});

pages.test('a second model opens beside it, and answers after the first is closed', async () => {
  const other = await page.evaluate(async (question) => {
    const first = chat;
    globalThis.chat = await svc.openTextModel({ model: await shippedFiles('svc-chat-mini') });
    await first.close();
    const reply = await ask(question, 32);
    await chat.close();
    return reply.ids;
  }, REPLIES[0]!.question);
  expect(other).toEqual(REPLIES[0]!.ids);
});
