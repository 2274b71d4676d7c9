// The places of the vocabulary's trie after which an element can only become equal to one before it.

import type { DistinctElements, DistinctAutomaton } from '../stacks/distinct-elements.ts';
import type { ElementSymbol, StackArena } from '../stacks/graph-stack.ts';
import type { Trie } from './trie.ts';
import { bytesTowards } from '../json/value-prefix.ts';

/** Nodes of the trie, below `from`, after whose bytes no other value remains; the subtrees of all of them are without a match. */
export function spentNodes(
  elements: DistinctElements<DistinctAutomaton>,
  { element, arena }: { element: ElementSymbol; arena: StackArena },
  trie: Trie,
  from: number,
): number[] {
  const spent: number[] = [];
  if (element.similar.length === 0) return spent;
  const automaton = elements.automatonOf(element);
  const visit = (node: number, symbol: ElementSymbol): void => {
    const towards = bytesTowards(symbol.spelled, symbol.similar);
    for (let child = node + 1; child < trie.subtreeEnd[node]!; child = trie.subtreeEnd[child]!) {
      const byte = trie.byte[child]!;
      if (towards?.has(byte) === false) continue;
      if (!symbol.inner.tops.some((top) => automaton.takes(top.symbol, byte))) continue;
      if (elements.similarAfter(symbol, byte).length === 0) continue;
      const next = elements.advance(arena, symbol, byte);
      if (next === null) spent.push(child);
      else visit(child, next);
    }
  };
  visit(from, element);
  return spent;
}

/** Takes the tokens of a subtree out of the mask. */
export function clearSubtree({ subtreeEnd, token, sameBytes }: Trie, from: number, bits: Uint32Array): void {
  for (let node = from; node < subtreeEnd[from]!; node++)
    for (let id = token[node]!; id >= 0; id = sameBytes[id]!) bits[id >>> 5]! &= ~(1 << (id & 31));
}
