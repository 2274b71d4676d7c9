// The view of chat on a fake model, which says what it is told.

import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { accessibilityProblems } from './axe.ts';
import type { FakeModel } from '../server/fake-model.ts';
import { eventually, start } from '../server/harness.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}

const replies = (page: Page) => page.getByRole('article', { name: /^Reply/ });
const ended = (page: Page) => page.locator('article.reply[aria-busy=true]').waitFor({ state: 'detached' });

const MARKDOWN = `# A title

A **bold** word, <b style="color:red">markup</b> and $x^2$.

$$\\frac{1}{2}$$

\`\`\`python
def f():
    return "text"
\`\`\`

| a | b |
| - | - |
| 1 | 2 |`;

describe('a reply', () => {
  web.test('is Markdown with math and coloured code, can be copied, and fits a narrow page', async () => {
    const { url } = await start();
    const page = await web.open(url, '', {
      viewport: { width: 360, height: 800 },
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await say(page, MARKDOWN);
    const reply = replies(page);
    await reply.locator('math[display=block] mfrac').waitFor();
    await reply.locator('p math msup').waitFor();
    await reply.locator('.hljs-keyword', { hasText: 'def' }).waitFor();
    expect(await reply.getByRole('heading').textContent()).toBe('A title');
    expect(await reply.locator('strong').textContent()).toBe('bold');
    expect(await reply.locator('b').count()).toBe(0);
    expect(await reply.getByText('<b style="color:red">markup</b>').count()).toBe(1);
    expect(await reply.locator('td').allTextContents()).toEqual(['1', '2']);
    await reply.getByText('tokens per second').waitFor();
    await reply.getByRole('button', { name: 'Copy this code of python' }).click();
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await expect.poll(copied).toBe('def f():\n    return "text"');
    await reply.getByRole('button', { name: 'Copy this reply' }).click();
    await expect.poll(copied).toBe(MARKDOWN);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await page.getByRole('button', { name: 'Conversations' }).click();
    await expect.poll(focused).toBe('New conversation');
    await page.keyboard.press('Escape');
    await expect.poll(focused).toBe('Conversations');
    await page.keyboard.press('Enter');
    await expect.poll(focused).toBe('New conversation');
    await page.keyboard.press('Enter');
    await page.getByText('What would you like').waitFor();
  });

  web.test('has branches: asked again, by another model, and to a changed message', async () => {
    const { url } = await start({}, { names: ['one', 'two'] });
    const page = await web.open(url);
    await page.getByLabel('Message', { exact: true }).fill('first');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('words too');
    await page.keyboard.press('Enter');
    await page.getByText('first\nwords too').first().waitFor();
    await page.getByText('2 written').waitFor();
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByText('2 of 2').waitFor();
    await page.getByLabel('Ask another model').selectOption('two');
    await page.getByRole('article', { name: 'Reply of two' }).waitFor();
    await page.getByText('3 of 3').waitFor();
    await ended(page);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Changed message').fill('other words here');
    await page.getByRole('button', { name: 'Send as a branch' }).click();
    await replies(page).getByText('other words here').waitFor();
    await ended(page);
    await page.getByRole('button', { name: 'Previous branch' }).click();
    await page.getByText('3 of 3').waitFor();
    expect(await replies(page).getByText('words too').count()).toBe(1);
  });

  web.test('shows thoughts and calls, stops by Escape, and has its error with what to do', async () => {
    const { url, model } = await start();
    const page = await web.open(url);
    await say(page, 'think deep thoughts');
    await page.getByText('Thoughts', { exact: true }).click();
    await replies(page).locator('.reasoning').getByText('deep thoughts').waitFor();
    await ended(page);
    await say(page, 'call weather {"city":"Rome"}');
    await page.getByText('Calls weather').click();
    await page.getByText('"city": "Rome"').waitFor();
    await ended(page);
    await say(page, 'hang here');
    await replies(page).last().getByText('hang').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Stopped.').waitFor();
    await eventually(() => model.running === 0, 'the request is aborted');
    await say(page, 'fail out_of_memory');
    await replies(page).last().getByText('failed with out_of_memory').waitFor();
    expect(await replies(page).last().getByRole('button', { name: 'Ask again' }).count()).toBe(1);
    web.allow(/429/);
    await say(page, 'refuse overloaded');
    await replies(page).last().getByText('refused with overloaded').waitFor();
  });

  web.test('goes on when the page is loaded anew', async () => {
    const { url, model } = await start();
    const release = holdReply(model);
    const page = await web.open(url);
    await say(page, 'tell me');
    await replies(page).getByText('before').waitFor();
    // Two requests fail before the reply is taken up.
    web.allow(/ERR_CONNECTION_REFUSED/);
    let failures = 0;
    await page.route('**/v1/streams/*', (route) =>
      failures++ < 2 ? route.abort('connectionrefused') : route.continue(),
    );
    await page.reload();
    await expect.poll(() => failures).toBe(3);
    await replies(page).getByText('before').waitFor();
    release();
    await replies(page).getByText('before and after').waitFor();
    await page.locator('[aria-live]', { hasText: 'Reply: before and after' }).waitFor({ state: 'attached' });
    await page.reload();
    await replies(page).getByText('before and after').waitFor();
  });
});

for (const hasLocks of [true, false])
  web.test(
    `a second page leaves a reply to the first one, ${hasLocks ? 'with' : 'without'} locks`,
    async () => {
      const { url, model } = await start();
      const page = await web.open('about:blank');
      if (!hasLocks)
        await page
          .context()
          .addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }));
      const release = holdReply(model);
      await page.goto(url);
      await say(page, 'tell me');
      await replies(page).getByText('before').waitFor();
      const second = await page.context().newPage();
      const asked: string[] = [];
      second.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await second.goto(page.url());
      await replies(second).waitFor();
      release();
      await replies(second).getByText('before and after').waitFor();
      await replies(page).getByText('before and after').waitFor();
      expect(asked.filter((path) => path.startsWith('/v1/streams/'))).toEqual([]);
    },
  );

web.test('a reply that waits says what the server tells of its model', async () => {
  const opening = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode(': opening the model, loading weights, 40 %\n\n')),
    });
  const { url } = await start(
    {},
    {
      added: {
        '/v1/chat/completions': {
          POST: {
            summary: 'A chat whose model is opened.',
            group: 'Text',
            handle(_, { res }) {
              res.headers.set('content-type', 'text/event-stream');
              return opening();
            },
          },
        },
      },
    },
  );
  const page = await web.open(url);
  await say(page, 'tell me');
  await replies(page).getByText('opening the model, loading weights, 40 % …').waitFor();
});

web.test('an address that is no URI names no conversation', async () => {
  const { url } = await start();
  const page = await web.open(url, '#/chat/%');
  await page.getByText('This conversation is not in this browser’s storage.').waitFor();
});

describe('conversations', () => {
  web.test('are found, renamed, exported, imported and deleted', async () => {
    const { url } = await start();
    const page = await web.open(url);
    await say(page, 'about whales');
    await ended(page);
    await page.getByRole('link', { name: 'New conversation' }).click();
    await say(page, 'about rivers');
    await ended(page);
    const list = page.getByRole('navigation', { name: 'Conversations' });
    const titles = () =>
      list
        .locator('li')
        .allTextContents()
        .then((all) => all.map((one) => one.split('⋯')[0]));
    await expect.poll(titles).toEqual(['about rivers', 'about whales']);
    await list.getByLabel('Search conversations').fill('whales');
    await expect.poll(titles).toEqual(['about whales']);
    await list.getByLabel('More about about whales').click();
    await list.getByRole('button', { name: 'Rename' }).click();
    await page.keyboard.type('!');
    await page.keyboard.press('Enter');
    await list.getByLabel('Search conversations').fill('');
    await expect.poll(titles).toEqual(['about rivers', 'about whales!']);
    const download = page.waitForEvent('download');
    await list.getByRole('button', { name: 'Export all' }).click();
    const file = await readFile(await (await download).path(), 'utf8');
    await list.getByLabel('More about about rivers').click();
    await list.getByRole('button', { name: 'Delete' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(titles).toEqual(['about whales!']);
    await page.getByText('What would you like').waitFor();
    const put = (text: string) =>
      page.getByLabel('File of conversations').setInputFiles({
        name: 'file.json',
        mimeType: 'application/json',
        buffer: Buffer.from(text),
      });
    await put(file.replaceAll('"user"', '"nobody"'));
    await list.getByText('file.json was not imported: conversation 1 has a damaged message').waitFor();
    await put(file.slice(0, -9));
    await list.getByText('file.json was not imported: it is not JSON').waitFor();
    await put(file);
    await expect.poll(titles).toEqual(['about rivers', 'about whales!', 'about whales!']);
    await list.getByRole('link', { name: 'about rivers' }).click();
    await replies(page).getByText('about rivers').waitFor();
  });
});

/** Makes the model say "before", and "and after" once the returned function is called. */
function holdReply(model: FakeModel): () => void {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  model.generate = async function* () {
    yield { type: 'accepted', promptTokens: 1, maxTokens: 9 };
    yield { type: 'delta', choice: 0, text: 'before ', ids: [1] };
    await held;
    yield { type: 'delta', choice: 0, text: 'and after', ids: [2] };
    yield { type: 'done', choice: 0, finishReason: 'stop', matchedStop: 2, completionTokens: 2 };
  };
  return release;
}
