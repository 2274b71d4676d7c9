import { expect, it } from 'vitest';
import { keptPages, type ChainedPage } from '../../../src/files/pages/page-chains.ts';
import { randomInteger } from '../../engine/random.ts';

/** Pages in the order of their use: name, name of the page before, bytes. */
function pages(...all: [string, string | null, number?][]): Map<string, ChainedPage> {
  return new Map(all.map(([key, before, bytes = 1]) => [key, { before, bytes }]));
}

const none = new Set<string>();
const kept = (of: Map<string, ChainedPage>, most: number, coming = none): string =>
  [...keptPages(of, most, coming)].sort().join('');

it('evicting pages keeps what the latest used page needs, however long ago that was used itself', () => {
  const all = pages(['a', null], ['x', null], ['y', 'x'], ['b', 'a'], ['c', 'b']);
  expect([5, 4, 3, 2, 1, 0].map((most) => kept(all, most))).toEqual(['abcxy', 'abcx', 'abc', 'ab', 'a', '']);
  expect(kept(pages(['a', null], ['b', 'a', 3], ['c', 'b']), 4)).toBe('ab');
});

it('evicting pages keeps no page that hangs on a missing page, on itself or in a circle', () => {
  const all = pages(['a', null], ['d', 'gone'], ['e', 'd'], ['s', 's'], ['p', 'q'], ['q', 'p'], ['r', 'p']);
  expect(kept(all, 100)).toBe('a');
});

it('evicting pages keeps what hangs on a page that is just being written', () => {
  expect(kept(pages(['d', 'c'], ['e', 'd']), 100, new Set(['c']))).toBe('de');
});

it('evicting pages of any forest keeps whole chains, and evicts the least recently used leaves', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = randomInteger(seed);
    const names = Array.from({ length: 30 }, (_, i) => String.fromCharCode(97 + i));
    const all = pages(
      ...names
        .map((key, i): [string, string | null] => [
          key,
          random(4) === 0 ? null : (names[random(i + 1) - 1] ?? null),
        ])
        .sort(() => random(3) - 1),
    );
    const most = random(31);
    const stay = keptPages(all, most, none);
    expect(stay.size).toBe(most < 30 ? most : 30);
    for (const key of stay) expect(stay.has(all.get(key)!.before ?? key)).toBe(true);
    const order = [...all.keys()];
    const use = (key: string): number =>
      Math.max(order.indexOf(key), ...order.filter((at) => all.get(at)!.before === key).map(use));
    const goes = order.filter((key) => !stay.has(key)).map(use);
    for (const key of stay) expect(use(key)).toBeGreaterThanOrEqual(Math.max(-1, ...goes));
  }
});
