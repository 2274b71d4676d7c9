// Which tokens may come next, as bits. A token that stays within the lexeme on top is found in that lexeme's own walk; one that
// runs out of it is followed into what stands below.

import { LRUCache } from 'lru-cache';
import type { Machine } from './machine.ts';
import type { Cell, Opened, OtherName, State } from './stack.ts';
import type { Walker } from './walk.ts';

export interface Masks {
  /** Bits of all tokens that lead on; not to be changed. */
  of(state: State): Uint32Array;
  /** Whether some token leads on whose bytes go on below `node`. */
  goesBelow(state: State, node: number): boolean;
}

const MOST_BYTES = 64 * 2 ** 20;
/** Ways out of a lexeme looked into for one mask; tokens that stay in theirs are never left out. */
const MOST_FOLLOWED = 100_000;
const COLON = 0x3a;

export function createMasks(machine: Machine, { trie, walk, below }: Walker, size: number): Masks {
  const words = Math.ceil(size / 32);
  const kept = new LRUCache<State, Uint32Array>({
    maxSize: MOST_BYTES,
    sizeCalculation: (bits) => bits.byteLength,
  });
  const { token, same, byte, end, nodes } = trie;

  /** Sets the bits of tokens below `from` that go on with `opened`. */
  const follow = (opened: Opened, from: number, bits: Uint32Array, seen: Set<number>): void => {
    for (const leaf of opened.leaves) {
      const { item } = leaf;
      if (item.kind !== 'lexeme' && item.kind !== 'name') continue;
      const key = leaf.id * nodes + from;
      if (seen.has(key) || seen.size > MOST_FOLLOWED) continue;
      seen.add(key);
      below(from, machine.lexemeOf(item), item.state, (node, isComplete) => {
        if (isComplete) leave(leaf, node, from, bits, seen);
        else for (let id = token[node]!; id >= 0; id = same[id]!) bits[id >>> 5]! |= 1 << (id & 31);
      });
    }
  };

  /** The lexeme of `leaf`, begun at `from`, is complete at `node`. */
  const leave = (leaf: Cell, node: number, from: number, bits: Uint32Array, seen: Set<number>): void => {
    const { item, below: rest } = leaf;
    if (item.kind === 'name') {
      // Most tokens end at the name's quote: a look at what follows it saves making the rest.
      const closed = hasChild(node, COLON) ? closeName(rest!, item, node, from) : null;
      if (closed) follow(machine.open(closed), node, bits, seen);
    } else {
      follow(machine.open(rest!), node, bits, seen);
    }
  };
  const closeName = (rest: Cell, name: OtherName, node: number, from: number): Cell | null => {
    let spelled = '';
    for (let at = node; at !== from; at = trie.parent[at]!)
      spelled = String.fromCharCode(byte[at]!) + spelled;
    return machine.closeName(rest, name, name.spelled + spelled);
  };
  /** Tokens that would end the name as one that the object has already. */
  const repeating = ({ seen, group, spelled }: OtherName): number[] =>
    (seen.others[group] ?? []).flatMap((used) => {
      if (!used.startsWith(spelled)) return [];
      let node = 0;
      for (let i = spelled.length; i < used.length && node >= 0; i++)
        node = childOf(node, used.charCodeAt(i));
      const ids: number[] = [];
      if (node >= 0) for (let id = token[node]!; id >= 0; id = same[id]!) ids.push(id);
      return ids;
    });
  const childOf = (node: number, wanted: number): number => {
    for (let at = node + 1; at < end[node]!; at = end[at]!) if (byte[at] === wanted) return at;
    return -1;
  };
  const hasChild = (node: number, wanted: number): boolean => childOf(node, wanted) >= 0;
  const isSet = (bits: Uint32Array, id: number): boolean => ((bits[id >>> 5]! >>> (id & 31)) & 1) === 1;

  const compute = ({ leaves }: State): Uint32Array => {
    const bits = new Uint32Array(words);
    const seen = new Set<number>();
    for (const leaf of leaves) {
      const { item } = leaf;
      if (item.kind === 'token') bits[item.id >>> 5]! |= 1 << (item.id & 31);
      if (item.kind !== 'lexeme' && item.kind !== 'name') continue;
      const found = walk(machine.lexemeOf(item), item.state);
      const repeats = item.kind === 'name' ? repeating(item).filter((id) => !isSet(bits, id)) : [];
      if (found.bits) for (let i = 0; i < words; i++) bits[i]! |= found.bits[i]!;
      for (const id of found.tokens) bits[id >>> 5]! |= 1 << (id & 31);
      for (const id of repeats) bits[id >>> 5]! &= ~(1 << (id & 31));
      if (item.kind === 'lexeme' && machine.open(leaf.below!).leaves.length === 0) continue;
      for (const node of found.exits) leave(leaf, node, 0, bits, seen);
    }
    return bits;
  };

  return {
    of(state) {
      let bits = kept.get(state);
      if (!bits) kept.set(state, (bits = compute(state)));
      return bits;
    },
    goesBelow(state, node) {
      const bits = new Uint32Array(words);
      follow(state, node, bits, new Set());
      return bits.some((word) => word !== 0);
    },
  };
}
