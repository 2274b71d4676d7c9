// Which replica gets a prompt, by what each has served and by what each has to do.

import { expect, it } from 'vitest';
import type { TextRequest } from '../../../src/index.ts';
import { PrefixPlacement } from '../../../src/host/kinds/prefix-placement.ts';
import { promptPages } from '../../../src/host/kinds/prompt-pages.ts';

const idle = [0, 0, 0];
const placement = () => new PrefixPlacement({ replicas: 3, running: 4, most: 8 });

it('a prompt goes where the longest part of its beginning was served, and others where the fewest pages were', () => {
  const to = placement();
  expect(to.place([1, 2, 3], idle)).toBe(0);
  expect(to.place([4, 5], idle)).toBe(1);
  expect(to.place([6], idle)).toBe(2);
  expect(to.place([4, 5, 7], idle)).toBe(1);
  expect(to.place([1, 2, 9, 3], idle)).toBe(0);
  to.forget(0);
  expect(to.place([1, 2, 3], [1, 1, 1])).toBe(0); // the emptiest one
  to.forget();
  expect(to.place([4, 5], [1, 1, 0])).toBe(2);
});

it.each([
  ['two requests more are not many', [2, 0, 0], 0],
  ['three are more than half of those that run together', [3, 0, 1], 1],
  ['three are little beside seven', [7, 4, 4], 1],
  ['of busy ones, half as many again are too many', [6, 4, 4], 0],
  ['a full replica takes none while another one has room', [8, 7, 7], 1],
  ['of full replicas the cache decides', [8, 8, 8], 0],
])('%s', (_, busy, chosen) => {
  const to = placement();
  to.place([1, 2], idle);
  expect(to.place([1, 2, 3], busy)).toBe(chosen);
});

it('the replica with less to do gets a prompt that two have served', () => {
  const to = placement();
  to.place([1], idle);
  expect(to.place([1], [5, 0, 9])).toBe(1);
  expect(to.place([1], [1, 2, 0])).toBe(0);
  expect(to.place([1], [2, 1, 0])).toBe(1);
});

it('pages that were served long ago are forgotten', () => {
  const to = placement();
  to.place([-1], idle);
  to.place([-2], [1, 0, 1]);
  to.place([-1, ...Array.from({ length: 2 ** 16 }, (_, i) => i)], idle);
  to.place([-3, -4], idle);
  expect(to.place([-2], [1, 1, 0])).toBe(1);
  to.place(
    Array.from({ length: 2 ** 16 }, (_, i) => 2 ** 17 + i),
    [0, 9, 9],
  );
  expect(to.place([-1], [1, 1, 0])).toBe(2);
});

const said = 'The quick brown fox jumps over the lazy dog. '.repeat(8);
const messages = (...texts: string[]) =>
  texts.map((content, i) => ({ role: i % 2 === 0 ? ('user' as const) : ('assistant' as const), content }));
const pagesOf = (request: Partial<TextRequest>) =>
  promptPages({ prompt: { messages: messages(said, 'Yes.', 'And?') }, ...request });

it('a conversation that goes on begins with the pages that it had', () => {
  const first = pagesOf({});
  const later = pagesOf({ prompt: { messages: messages(said, 'Yes.', 'And?', said, 'Why?') } });
  expect(first).toHaveLength(6);
  expect(later.slice(0, 6)).toEqual(first);
  expect(new Set(later).size).toBe(later.length);
  const ids = Array.from({ length: 130 }, (_, i) => i);
  expect(promptPages({ prompt: { ids } })).toEqual(promptPages({ prompt: { ids: ids.concat(1, 2) } }));
  expect(promptPages({ prompt: {} } as never), 'which the replica refuses').toEqual([]);
});

const image = (byte: number) => [
  { role: 'user' as const, content: [{ type: 'image' as const, image: new Uint8Array(2000).fill(byte) }] },
];

it.each<[string, Partial<TextRequest>, Partial<TextRequest>]>([
  ['LoRAs', { lora: 'poet' }, {}],
  ['salts', { cacheSalt: 'a' }, { cacheSalt: 'b' }],
  ['a LoRA and a salt', { lora: 'a' }, { cacheSalt: 'a' }],
  ['first words', {}, { prompt: { messages: messages(`Now ${said}`) } }],
  ['roles', { prompt: { messages: messages('', said) } }, { prompt: { messages: messages(said) } }],
  ['images', { prompt: { messages: image(1) } }, { prompt: { messages: image(2) } }],
  ['template arguments', {}, { prompt: { messages: messages(said), templateKwargs: { thinking: false } } }],
])('prompts of other %s have no page in common', (_, one, other) => {
  const pages = pagesOf(one);
  expect(pages.length).toBeGreaterThan(1);
  expect(pagesOf(other).filter((page) => pages.includes(page))).toEqual([]);
});
