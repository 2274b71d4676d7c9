// Settings, files and models of a conversation in the view of chat, on a fake model.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { addMessage, type Message, newConversation, pathTo } from '../../src/web/chat/conversation.ts';
import { requestFor } from '../../src/web/chat/request.ts';
import { fakeInfo } from '../server/fake-model.ts';
import { eventually, start } from '../server/harness.ts';
import { useWebPage } from './web-page.ts';

const web = useWebPage();

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}

const replies = (page: Page) => page.getByRole('article', { name: /^Reply/ });

web.test('settings have the bounds of the table, are checked, kept and sent', async () => {
  const { url, model } = await start();
  const page = await web.open(url);
  await page.getByRole('button', { name: 'Settings' }).click();
  const field = (name: string) => page.getByLabel(name, { exact: true });
  expect(await field('temperature').getAttribute('placeholder')).toBe('0.4');
  await field('temperature').fill('3');
  await page.getByText('Enter a number, at least 0, at most 2.').waitFor();
  await say(page, 'one two');
  await page.getByRole('alert').getByText('The settings need a change: temperature').waitFor();
  expect(model.requests).toEqual([]);
  await field('temperature').fill('0.5');
  await field('seed').fill('7');
  await field('stop').fill('STOP\nEND');
  await field('max_completion_tokens').fill('1');
  await field('System prompt').fill('Be brief.');
  await field('Reasoning').selectOption('off');
  await field('JSON Schema').fill('{');
  await page.getByText('This is not JSON').waitFor();
  await field('JSON Schema').fill('{"type":"object"}');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('The reply was cut at the limit of tokens').waitFor();
  expect(model.requests[0]).toMatchObject({
    prompt: { messages: [{ role: 'system', content: 'Be brief.' }, { content: 'one two' }] },
    temperature: 0.5,
    seed: 7,
    stop: ['STOP', 'END'],
    maxTokens: 1,
    reasoning: { effort: 'none' },
    constraint: { schema: { type: 'object' } },
  });
  await page.reload();
  await page.getByRole('button', { name: 'Settings' }).click();
  await expect.poll(() => field('temperature').inputValue()).toBe('0.5');
});

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

web.test('files are sent where the model takes them: chosen, dropped and pasted', async () => {
  const { url, model, served } = await start({}, { ready: false });
  Object.assign(model, { info: { ...fakeInfo, media: ['image'] } });
  served.ready(model);
  const page = await web.open(url);
  const choose = (name: string, mimeType: string, buffer: Buffer) =>
    page.getByLabel('Files', { exact: true }).setInputFiles({ name, mimeType, buffer });
  await page.getByLabel('Model', { exact: true }).waitFor();
  await choose('dot.png', 'image/png', Buffer.from(PIXEL, 'base64'));
  await choose('sound.wav', 'audio/wav', Buffer.from('RIFF'));
  await page.getByText('sound.wav was not added: fake-chat does not take sounds').waitFor();
  await choose('data.bin', '', Buffer.from([0, 255, 1]));
  await page.getByText('data.bin was not added: it is neither a text').waitFor();
  const give = (event: 'drop' | 'paste', name: string) =>
    page.getByLabel('Message', { exact: true }).evaluate(
      (area, [event, name]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([`text of ${name}`], name!, { type: 'text/plain' }));
        const more = event === 'drop' ? { dataTransfer: transfer } : { clipboardData: transfer };
        const made = event === 'drop' ? DragEvent : ClipboardEvent;
        area.dispatchEvent(new made(event!, { bubbles: true, cancelable: true, ...more }));
      },
      [event, name],
    );
  await give('drop', 'a.txt');
  await give('paste', 'b.txt');
  await page.getByRole('button', { name: 'Remove b.txt' }).waitFor();
  await say(page, 'look');
  await eventually(() => model.requests.length === 1, 'the request arrives');
  const { prompt } = model.requests[0]!;
  const [, words] = ('messages' in prompt ? prompt.messages[0]!.content : []) as {
    type: string;
    text: string;
  }[];
  expect(words!.text).toBe('a.txt:\n```\ntext of a.txt\n```\n\nb.txt:\n```\ntext of b.txt\n```\n\nlook');
  await page.getByRole('article', { name: 'Your message' }).getByRole('img', { name: 'dot.png' }).waitFor();
});

test('questions whose reply failed go to the model as one message, since many templates want roles that take turns', () => {
  const conversation = newConversation([], { system: 'Be brief.' });
  const say = (role: 'user' | 'assistant', text: string, parent: Message | null) =>
    addMessage(conversation, { role, text, parent: parent?.id ?? null });
  const first = say('user', 'a', null);
  const last = say('user', 'b', say('assistant', '', first));
  expect(requestFor(conversation, 'm', pathTo(conversation, last.id), [])).toMatchObject({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'a\n\nb' },
    ],
  });
});

web.test('two models answer side by side, and the conversation goes on from one of them', async () => {
  const { url, model } = await start({}, { names: ['one', 'two'] });
  const page = await web.open(url);
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByLabel('Model 2').waitFor();
  await say(page, 'both of you');
  const columns = page.getByRole('group', { name: 'Replies side by side' });
  for (const name of ['one', 'two'])
    await columns
      .getByRole('article', { name: `Reply of ${name}` })
      .getByText('3 written')
      .waitFor();
  await columns.getByRole('button', { name: 'Go on from here: two' }).click();
  await page.getByRole('button', { name: 'Do not ask one' }).click();
  await say(page, 'and now');
  await replies(page).nth(2).getByText('2 written').waitFor();
  expect(await replies(page).nth(2).getAttribute('aria-label')).toBe('Reply of two');
  expect(model.requests).toHaveLength(3);
});
