import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createPictureStore } from '../../../src/server/images/picture-store.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const picture = (length: number) => ({ bytes: new Uint8Array(length), type: 'image/png' });

it('drops the oldest where pictures grow too many, and never the newest', () => {
  const store = createPictureStore(100);
  for (const id of ['a', 'b', 'c']) store.keep(id, picture(40));
  expect(['a', 'b', 'c'].map((id) => store.find(id) !== null)).toEqual([false, true, true]);
  store.keep('d', picture(500));
  expect(['b', 'c', 'd'].map((id) => store.find(id) !== null)).toEqual([false, false, true]);
  store.keep('e', picture(40));
  expect(['d', 'e'].map((id) => store.find(id) !== null)).toEqual([false, true]);
});

it('drops pictures after their time', () => {
  const store = createPictureStore(100, 1000);
  store.keep('a', picture(60));
  vi.advanceTimersByTime(600);
  store.keep('b', picture(40));
  vi.advanceTimersByTime(600);
  expect([store.find('a'), store.find('b')?.bytes.length]).toEqual([null, 40]);
  // What was dropped makes room.
  store.keep('c', picture(60));
  expect(store.find('b')).not.toBeNull();
});
