// The time of searches: what they take is counted together, what lies between them is not.

import { expect, it } from 'vitest';
import { SearchTime } from '../../../src/engine/tuning/search-time.ts';

it('the search time counts searches together, and nothing between them', () => {
  let now = 0;
  const time = new SearchTime(30, () => now);
  time.begin();
  now = 14;
  expect(time.isOver(0.5)).toBe(false);
  now = 20;
  expect(time.isOver(0.5)).toBe(true);
  expect(time.isOver()).toBe(false);
  time.end();
  now = 1000;
  expect(time.isOver()).toBe(false);
  time.begin();
  now = 1009;
  expect(time.isOver()).toBe(false);
  now = 1010;
  expect(time.isOver()).toBe(true);
  time.end();
  expect(time.isOver()).toBe(true);
});
