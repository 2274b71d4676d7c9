import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createImageStore } from '../../../src/server/images/image-store.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const image = (length: number) => ({ bytes: new Uint8Array(length), type: 'image/png' });

it('the image store drops the oldest where images grow too many, and never the newest', () => {
  const store = createImageStore(100);
  for (const id of ['a', 'b', 'c']) store.keep(id, image(40));
  expect(['a', 'b', 'c'].map((id) => store.find(id) !== null)).toEqual([false, true, true]);
  store.keep('d', image(500));
  expect(['b', 'c', 'd'].map((id) => store.find(id) !== null)).toEqual([false, false, true]);
  store.keep('e', image(40));
  expect(['d', 'e'].map((id) => store.find(id) !== null)).toEqual([false, true]);
});

it('the image store drops images after their time', () => {
  const store = createImageStore(100, 1000);
  store.keep('a', image(60));
  vi.advanceTimersByTime(600);
  store.keep('b', image(40));
  vi.advanceTimersByTime(600);
  expect([store.find('a'), store.find('b')?.bytes.length]).toEqual([null, 40]);
  // The space of dropped images is available again.
  store.keep('c', image(60));
  expect(store.find('b')).not.toBeNull();
});
