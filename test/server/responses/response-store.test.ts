import { expect, it } from 'vitest';
import { createResponseStore, type StoredResponse } from '../../../src/server/responses/response-store.ts';

const stored = (id: string, ...items: string[]): StoredResponse => ({
  response: { id, status: 'completed' },
  items: items.map((item) => ({ type: 'message', role: 'assistant', id: item, content: id })),
  input: [],
});

it('an item is stored as long as any response that has it', () => {
  const store = createResponseStore();
  store.set(stored('one', 'a'));
  store.set(stored('two', 'a', 'b'));
  store.set(stored('two', 'a', 'c'));
  store.delete('one');
  expect(store.item('a')).toMatchObject({ content: 'two' });
  expect(store.item('b')).toBeUndefined();
  expect(store.item('c')).toMatchObject({ content: 'two' });
  store.delete('two');
  expect(store.item('a')).toBeUndefined();
});

it('a response finds its items without a search of other responses', () => {
  const store = createResponseStore();
  let looks = 0;
  const other = stored('one', 'a');
  Object.defineProperty(other.items[0], 'id', { enumerable: true, get: () => (looks++, 'a') });
  store.set(other);
  store.set(stored('two', 'b'));
  looks = 0;
  expect(store.item('b')).toMatchObject({ content: 'two' });
  expect(store.item('none')).toBeUndefined();
  expect(looks).toBe(0);
});
