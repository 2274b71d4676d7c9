// Host memory of the prefix cache: bytes are counted, and the least recently used copies are evicted first.

import { expect, it } from 'vitest';
import { HostTier } from '../../../../src/engine/text/cache/host-tier.ts';
import { PrefixTree, type PageNode } from '../../../../src/engine/text/cache/prefix-tree.ts';

function open(total: number): { tree: PrefixTree; host: HostTier; keep: (key: string) => PageNode } {
  const tree = new PrefixTree(() => {});
  const host = new HostTier(tree, total);
  tree.watch({
    kept: (node, bytes) => host.count(node, bytes),
    placed: () => {},
    wants: () => false,
    leaving: () => {},
  });
  const keep = (key: string): PageNode => {
    const node = tree.child('', null, key);
    tree.keep(node, new Uint8Array(10));
    tree.touch(node);
    return node;
  };
  return { tree, host, keep };
}

it('evicts the least recently used copies until they fit, but none that is being loaded', () => {
  const { tree, host, keep } = open(30);
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(keep) as [PageNode, PageNode, PageNode, PageNode];
  expect(host.used).toBe(40);
  a.loading = true;
  tree.touch(b);
  host.trim();
  expect(host.used).toBe(20);
  expect([a, b, c, d].map((node) => node.host !== null)).toEqual([true, true, false, false]);
});

it('leaves all copies while they fit, and forgets those of nodes that are removed', () => {
  const { tree, host, keep } = open(30);
  ['a', 'b', 'c'].forEach(keep);
  host.trim();
  expect(host.used).toBe(30);
  tree.forget();
  expect(host.used).toBe(0);
});
