import { expect, it } from 'vitest';
import { fitTurns } from '../../../../src/engine/text/request/turns.ts';
import type { ChatMessage } from '../../../../src/engine/text/calls/text-model.ts';

const said = (role: ChatMessage['role'], content: string): ChatMessage => ({ role, content });

const CONVERSATION = [
  said('system', 'ss'),
  said('user', 'aaaa'),
  said('assistant', 'b'),
  said('user', 'cc'),
  said('assistant', ''),
  said('tool', 'ddd'),
  said('assistant', 'e'),
  said('user', 'f'),
];

/** One token a letter. */
async function fit(messages: ChatMessage[], most: number): Promise<string> {
  let renders = 0;
  const { text } = await fitTurns(messages, most, (rest) => {
    renders++;
    const joined = rest.map(({ content }) => content as string).join('');
    return Promise.resolve({ text: joined, ids: [...Buffer.from(joined)] });
  });
  expect(renders).toBeLessThan(2 + Math.log2(messages.length) + 1);
  return text;
}

it.each([
  [14, 'ssaaaabccdddef'],
  [13, 'ssccdddef'],
  [9, 'ssccdddef'],
  [8, 'ssf'],
  [3, 'ssf'],
  [2, 'ssf'], // for who finds it too long to say
])('a conversation cut to %d tokens keeps %s', async (most, text) => {
  expect(await fit(CONVERSATION, most)).toBe(text);
});

it('messages before the first one of the user are a turn, too', async () => {
  expect(await fit([said('assistant', 'hello'), said('user', 'a'), said('user', 'b')], 2)).toBe('ab');
  expect(await fit([said('assistant', 'hello'), said('user', 'a'), said('user', 'b')], 1)).toBe('b');
  expect(await fit([said('user', 'aaa')], 1)).toBe('aaa');
  expect(await fit([said('system', 'sss')], 1)).toBe('sss');
});

it.each([2, 3, 5, 8, 33])('a conversation of %d turns keeps as many as fit', async (turns) => {
  const messages = Array.from({ length: turns }, (_, i) => said('user', String.fromCharCode(97 + (i % 26))));
  const all = messages.map(({ content }) => content as string).join('');
  for (let most = 1; most <= turns; most++) expect(await fit(messages, most)).toBe(all.slice(-most));
});
