// Host memory of the prefix cache: bytes are counted, and the least recently used copies are evicted first.

import { expect, it } from 'vitest';
import { HostTier } from '../../../../src/engine/text/cache/host-tier.ts';
import type { CachedPage } from '../../../../src/engine/text/cache/cached-page.ts';
import { PrefixTree } from '../../../../src/engine/text/cache/prefix-tree.ts';

function open(total: number): { tree: PrefixTree; host: HostTier; keep: (key: string) => CachedPage } {
  const tree = new PrefixTree(() => {});
  const host = new HostTier(tree, total);
  tree.watch({
    kept: (cached, bytes) => host.count(cached, bytes),
    placed: () => {},
    wants: () => false,
    leaving: () => {},
  });
  const keep = (key: string): CachedPage => {
    const node = tree.child('', null, key);
    const cached = node.pages[0]!;
    tree.keep(cached, new Uint8Array(10));
    tree.touch(node);
    return cached;
  };
  return { tree, host, keep };
}

it('the host tier evicts the least recently used copies until they fit, but none that is being loaded', () => {
  const { tree, host, keep } = open(30);
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(keep) as [CachedPage, CachedPage, CachedPage, CachedPage];
  expect(host.used).toBe(40);
  a.loading = true;
  tree.touch(b.node);
  host.trim();
  expect(host.used).toBe(20);
  expect([a, b, c, d].map(({ host: bytes }) => bytes !== null)).toEqual([true, true, false, false]);
});

it('the host tier keeps all copies while they fit, and forgets those of nodes that are removed', () => {
  const { tree, host, keep } = open(30);
  ['a', 'b', 'c'].forEach(keep);
  host.trim();
  expect(host.used).toBe(30);
  tree.forget();
  expect(host.used).toBe(0);
});
