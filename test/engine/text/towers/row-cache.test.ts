// Rows of media within a budget: the least recently used ones leave, those that running requests need stay.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Medium } from '../../../../src/engine/text/towers/medium.ts';
import { RowCache } from '../../../../src/engine/text/towers/row-cache.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { openTestDevice } from '../../../gpu/test-device.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const BLOCK = 1024;
const medium = (key: string) => ({ key }) as Medium;

/** A cache for three media of two blocks, with those that are needed. */
function cacheOfThree(on = device) {
  const before = on.memoryUsed;
  const needed = new Set<string>();
  const cache = new RowCache(on, (key) => needed.has(key));
  cache.most = 3 * 2 * BLOCK;
  const add = async (key: string): Promise<void> => {
    const { rows, keep } = await cache.allocate(2, BLOCK);
    expect(rows.blocks).toHaveLength(2);
    keep(key);
  };
  const keys = (...all: string[]): string[] => all.filter((key) => cache.has(medium(key)));
  return { cache, needed, add, keys, used: () => on.memoryUsed - before };
}

it('the least recently used rows of media leave when the budget is full', async () => {
  const { cache, add, keys, used } = cacheOfThree();
  for (const key of ['a', 'b', 'c']) await add(key);
  expect(used()).toBe(6 * BLOCK);
  cache.take(medium('a'));
  await add('d');
  expect(keys('a', 'b', 'c', 'd')).toEqual(['a', 'c', 'd']);
  expect(used()).toBe(6 * BLOCK);
  await add('e');
  expect(keys('a', 'b', 'c', 'd', 'e')).toEqual(['a', 'd', 'e']);
  cache.clear();
  expect(used()).toBe(0);
});

it('rows that running requests need stay, beyond the budget, and leave afterwards', async () => {
  const { cache, needed, add, keys, used } = cacheOfThree();
  for (const key of ['a', 'b', 'c', 'd']) {
    needed.add(key);
    await add(key);
  }
  expect(keys('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c', 'd']);
  expect(used()).toBe(8 * BLOCK);
  needed.clear();
  needed.add('b');
  await add('e');
  expect(keys('a', 'b', 'c', 'd', 'e')).toEqual(['b', 'd', 'e']);
  expect(used()).toBe(6 * BLOCK);
  cache.clear();
});

it('rows that were allocated and not kept are freed', async () => {
  const { cache, keys, used } = cacheOfThree();
  const { free } = await cache.allocate(2, BLOCK);
  expect(used()).toBe(2 * BLOCK);
  free();
  expect([used(), keys('a')]).toEqual([0, []]);
});

it('unneeded rows make room for others, and needed rows do not', async () => {
  const small = await openTestDevice({ memoryBudget: 8 * BLOCK });
  const { cache, needed, add, keys } = cacheOfThree(small);
  cache.most = Infinity;
  for (const key of ['a', 'b', 'c']) await add(key);
  needed.add('b');
  expect(cache.needed).toEqual(['b']);
  small.allocate('step', 'something else', 2 * BLOCK);
  await add('d');
  expect(keys('a', 'b', 'c', 'd')).toEqual(['b', 'd']);
  needed.add('d');
  await expect(cache.allocate(3, BLOCK)).rejects.toThrow(/rows of a medium needs/);
  expect(keys('b', 'd')).toEqual(['b', 'd']);
  small.destroy();
});
