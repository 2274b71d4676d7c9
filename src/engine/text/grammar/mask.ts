// Which tokens may come next, as bits. A token that stays within the lexeme on top is found in that lexeme's own walk; one that
// runs out of it is followed into what stands below.

import { LRUCache } from 'lru-cache';
import { advance } from './lexeme.ts';
import type { Machine } from './machine.ts';
import type { Cell, Opened, OtherName, State } from './stack.ts';
import { childOf, nodeAt } from './trie.ts';
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
/** Ways out of a lexeme that are many, and first bytes that are few. */
const MANY = 500;
const MOST_FIRST = 64;
const COLON = 0x3a;
const QUOTE = 0x22;

export function createMasks(machine: Machine, { trie, walks, below }: Walker, size: number): Masks {
  const words = Math.ceil(size / 32);
  const kept = new LRUCache<State, Uint32Array>({
    maxSize: MOST_BYTES,
    sizeCalculation: (bits) => bits.byteLength,
  });
  const { token, same, byte, nodes } = trie;

  const set = (bits: Uint32Array, node: number): void => {
    for (let id = token[node]!; id >= 0; id = same[id]!) bits[id >>> 5]! |= 1 << (id & 31);
  };

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
        else if (item.kind === 'lexeme' || !isUsed(item, node, from)) set(bits, node);
      });
    }
  };

  /** The lexeme of `leaf`, begun at `from`, is complete at `node`. */
  const leave = (leaf: Cell, node: number, from: number, bits: Uint32Array, seen: Set<number>): void => {
    const { item, below: rest } = leaf;
    if (item.kind === 'name') {
      // Most tokens end at the name's quote: a look at what follows it saves making the rest.
      const mayGoOn = machine.isInSet(item) || childOf(trie, node, COLON) >= 0;
      const closed = mayGoOn ? closeName(rest!, item, node, from) : null;
      if (closed) follow(machine.open(closed), node, bits, seen);
    } else {
      follow(machine.open(rest!), node, bits, seen);
    }
  };
  const between = (from: number, node: number): string => {
    let text = '';
    for (let at = node; at !== from; at = trie.parent[at]!) text = String.fromCharCode(byte[at]!) + text;
    return text;
  };
  const closeName = (rest: Cell, name: OtherName, node: number, from: number): Cell | null =>
    machine.closeName(rest, name, name.spelled + between(from, node));
  const isUsed = ({ seen, group, spelled }: OtherName, node: number, from: number): boolean => {
    const used = seen.others[group];
    return used !== undefined && byte[node] === QUOTE && used.includes(spelled + between(from, node));
  };
  /** Takes away the tokens that would end a name that is there already. */
  const dropUsed = (bits: Uint32Array, { seen, group, spelled }: OtherName): void => {
    for (const name of seen.others[group] ?? []) {
      const node = name.startsWith(spelled) ? nodeAt(trie, name.slice(spelled.length)) : -1;
      for (let id = node < 0 ? -1 : token[node]!; id >= 0; id = same[id]!)
        bits[id >>> 5]! &= ~(1 << (id & 31));
    }
  };

  const marks = new Uint8Array(nodes);
  /** Of many ways out those with a byte that what follows can begin with: found from the byte, not one by one. */
  const exitsInto = ({ leaves }: Opened, exits: Int32Array): Iterable<number> => {
    if (leaves.length === 0) return [];
    const bytes = exits.length < MANY ? null : firstBytes(machine, leaves);
    if (bytes === null || bytes.length > MOST_FIRST) return exits;
    for (let i = 0; i < exits.length; i++) marks[exits[i]!] = 1;
    const found: number[] = [];
    for (const each of bytes) {
      for (let at = trie.firstOf[each]!; at < trie.firstOf[each + 1]!; at++) {
        const node = trie.parent[trie.byByte[at]!]!;
        if (marks[node] === 1) found.push(node);
        marks[node] = 0;
      }
    }
    for (let i = 0; i < exits.length; i++) marks[exits[i]!] = 0;
    return found;
  };

  const compute = ({ leaves }: State): Uint32Array => {
    const bits = new Uint32Array(words);
    const seen = new Set<number>();
    for (const leaf of leaves) {
      const { item } = leaf;
      if (item.kind === 'token') bits[item.id >>> 5]! |= 1 << (item.id & 31);
      if (item.kind !== 'lexeme' && item.kind !== 'name') continue;
      const isNew = item.kind === 'lexeme' || item.seen.others[item.group] === undefined;
      const found = walks(machine.lexemeOf(item), item.state);
      const own = isNew ? bits : new Uint32Array(words);
      for (const { bits: dense, tokens } of found) {
        if (dense) for (let i = 0; i < words; i++) own[i]! |= dense[i]!;
        for (const id of tokens) own[id >>> 5]! |= 1 << (id & 31);
      }
      if (item.kind === 'name' && !isNew) {
        dropUsed(own, item);
        for (let i = 0; i < words; i++) bits[i]! |= own[i]!;
      }
      if (item.kind === 'name') {
        for (const { exits } of found) for (const node of exits) leave(leaf, node, 0, bits, seen);
      } else {
        const opened = machine.open(leaf.below!);
        for (const { exits } of found) {
          for (const node of exitsInto(opened, exits)) follow(opened, node, bits, seen);
        }
      }
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

function firstBytes(machine: Machine, leaves: readonly Cell[]): number[] {
  return Array.from({ length: 256 }, (_, byte) => byte).filter((byte) =>
    leaves.some(
      ({ item }) =>
        (item.kind === 'lexeme' || item.kind === 'name') &&
        advance(machine.lexemeOf(item), item.state, byte) >= 0,
    ),
  );
}
