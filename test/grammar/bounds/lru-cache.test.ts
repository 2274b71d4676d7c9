import { expect, it } from 'vitest';
import { LruCache } from '../../../src/grammar/bounds/lru-cache.ts';

it('an LRU cache evicts the least recently used entries', () => {
  const cache = new LruCache<string, number>({ maxSize: 3 });
  for (const key of ['a', 'b', 'c']) cache.set(key, key.charCodeAt(0));
  expect(cache.get('a')).toBe(97);
  cache.set('d', 100);
  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual([97, undefined, 99, 100]);
  expect(cache.size).toBe(3);
});

it('an LRU cache bounds the sum of the sizes', () => {
  const cache = new LruCache<number, string>({ maxSize: 10, sizeOf: ({ length }) => length });
  cache.set(1, 'four');
  cache.set(2, 'five!');
  expect(cache.size).toBe(9);
  cache.set(1, 'three');
  expect([cache.get(1), cache.get(2), cache.size]).toEqual(['three', 'five!', 10]);
  cache.set(3, 'as long as ten');
  expect([cache.get(3), cache.size]).toEqual([undefined, 10]);
  cache.set(3, 'ten chars!');
  expect([cache.get(1), cache.get(2), cache.get(3)]).toEqual([undefined, undefined, 'ten chars!']);
});
