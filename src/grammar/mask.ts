// Which tokens may come next, as bits. A token that stays within the lexeme on top is found in that lexeme's own walk; one that
// runs out of it is followed into what stands below.

import { LRUCache } from 'lru-cache';
import type { Lexeme } from './lexeme.ts';
import type { Machine } from './machine.ts';
import type { Cell, Opened, OtherName, State } from './stack.ts';
import { childOf, nodeAt } from './trie.ts';
import type { Walk, Walker } from './walk.ts';
import { CELL_WORK } from './work.ts';

export interface Masks {
  /** Bits of all tokens that lead on; not to be changed. */
  of(state: State): Uint32Array;
  /** Whether some token leads on whose bytes go on below `node`. */
  goesBelow(state: State, node: number): boolean;
  /** Those that are kept. */
  readonly bytes: number;
}

const MOST_BYTES = 64 * 2 ** 20;
/** Of what is around one that is kept, about. */
const ENTRY_BYTES = 200;
/** Ways out of a lexeme looked into for one mask; tokens that stay in theirs are never left out. */
const MOST_FOLLOWED = 100_000;
/** Nodes that can be looked at while a leaf is found to be known. */
const LEAF_WORK = 10;
const COLON = 0x3a;
const QUOTE = 0x22;

/** Adds to a mask what is no walk from the root. */
type Rest = (bits: Uint32Array, seen: Set<number>) => void;

export function createMasks(machine: Machine, walker: Walker, size: number): Masks {
  const { trie, places, nodesOf, setTokens, walks, below } = walker;
  const words = Math.ceil(size / 32);
  const sizes = {
    maxSize: MOST_BYTES,
    sizeCalculation: (bits: Uint32Array): number => bits.byteLength + ENTRY_BYTES,
  };
  const kept = new LRUCache<State, Uint32Array>(sizes);
  const keptUnions = new LRUCache<string, Uint32Array>(sizes);
  const { token, same, byte } = trie;
  const { work } = machine;

  /** Sets the bits of tokens below `from` that go on with `opened`. */
  const follow = (opened: Opened, from: number, bits: Uint32Array, seen: Set<number>): void => {
    work.spend(opened.leaves.length * LEAF_WORK);
    for (const leaf of opened.leaves) {
      const { item } = leaf;
      if (item.kind === 'lexeme') followLexeme(leaf, machine.lexemeOf(item), item.state, from, bits, seen);
      // Names are told apart by their very bytes.
      if (item.kind === 'name') for (const node of nodesOf(from)) followName(leaf, item, node, bits, seen);
    }
  };
  const isNew = (leaf: Cell, from: number, seen: Set<number>): boolean => {
    const key = leaf.id * places + from;
    if (seen.has(key) || seen.size > MOST_FOLLOWED || work.isMuch) return false;
    seen.add(key);
    return true;
  };
  const followLexeme = (
    leaf: Cell,
    lexeme: Lexeme,
    state: number,
    from: number,
    bits: Uint32Array,
    seen: Set<number>,
  ): void => {
    if (!isNew(leaf, from, seen)) return;
    below(from, lexeme, state, work, (place, isComplete) => {
      if (isComplete) follow(machine.open(leaf.below!), place, bits, seen);
      else setTokens(place, bits);
    });
  };
  const followName = (
    leaf: Cell,
    name: OtherName,
    from: number,
    bits: Uint32Array,
    seen: Set<number>,
  ): void => {
    if (!isNew(leaf, from, seen)) return;
    below(from, machine.lexemeOf(name), name.state, work, (node, isComplete) => {
      if (isComplete) leaveName(leaf.below!, name, node, from, bits, seen);
      else if (!isUsed(name, node, from)) setTokens(node, bits);
    });
  };

  /** The name, begun at `from`, is complete at `node`. */
  const leaveName = (
    rest: Cell,
    name: OtherName,
    node: number,
    from: number,
    bits: Uint32Array,
    seen: Set<number>,
  ): void => {
    // Most tokens end at the name's quote: a look at what follows it saves making the rest.
    if (!machine.isInSet(name) && childOf(trie, node, COLON) < 0) return;
    const closed = machine.closeName(rest, name, name.spelled + between(from, node));
    if (closed) follow(machine.open(closed), node, bits, seen);
  };
  const between = (from: number, node: number): string => {
    let text = '';
    for (let at = node; at !== from; at = trie.parent[at]!) text = String.fromCharCode(byte[at]!) + text;
    return text;
  };
  const isUsed = ({ seen, group, spelled }: OtherName, node: number, from: number): boolean => {
    const used = seen.others[group];
    return used !== undefined && byte[node] === QUOTE && used.includes(spelled + between(from, node));
  };
  /** All but the tokens that would end a name that is there already. */
  const addUnused = (bits: Uint32Array, found: Walk[], { seen, group, spelled }: OtherName): void => {
    const own = union(found);
    for (const name of seen.others[group] ?? []) {
      const node = name.startsWith(spelled) ? nodeAt(trie, name.slice(spelled.length)) : -1;
      for (let id = node < 0 ? -1 : token[node]!; id >= 0; id = same[id]!)
        own[id >>> 5]! &= ~(1 << (id & 31));
    }
    for (let i = 0; i < words; i++) bits[i]! |= own[i]!;
  };

  /** All that the walks of a lexeme found. */
  const union = (found: readonly Walk[]): Uint32Array => {
    const bits = new Uint32Array(words);
    for (const { bits: dense, tokens } of found) {
      if (dense) for (let i = 0; i < words; i++) bits[i]! |= dense[i]!;
      for (const id of tokens) bits[id >>> 5]! |= 1 << (id & 31);
    }
    return bits;
  };
  /** Where nothing is followed out of its lexeme, the walks decide: many states of a count have the same ones. */
  const keptUnion = (found: readonly Walk[]): Uint32Array => {
    const key = found.map(({ id }) => id).join();
    let bits = keptUnions.get(key);
    if (!bits) keptUnions.set(key, (bits = union(found)));
    return bits;
  };

  const partOf = (leaf: Cell): { found: Walk[]; rest: Rest | null } => {
    const { item } = leaf;
    if (item.kind === 'token') {
      return { found: [], rest: (bits) => void (bits[item.id >>> 5]! |= 1 << (item.id & 31)) };
    }
    if (item.kind !== 'lexeme' && item.kind !== 'name') return { found: [], rest: null };
    const found = walks(machine.lexemeOf(item), item.state);
    // Those that are kept count as well: the mask of a state is refused always or never.
    for (const { visited } of found) work.spend(visited + CELL_WORK);
    const leaves = found.some(({ exits }) => exits.length > 0);
    if (item.kind === 'lexeme') {
      const opened = leaves ? machine.open(leaf.below!) : null;
      if (!opened || opened.leaves.length === 0) return { found, rest: null };
      return {
        found,
        rest(bits, seen) {
          for (const { exits } of found) for (const place of exits) follow(opened, place, bits, seen);
        },
      };
    }
    const isFresh = item.seen.others[item.group] === undefined;
    if (isFresh && !leaves) return { found, rest: null };
    return {
      found: isFresh ? found : [],
      rest(bits, seen) {
        if (!isFresh) addUnused(bits, found, item);
        for (const { exits } of found) {
          for (const place of exits)
            for (const node of nodesOf(place)) leaveName(leaf.below!, item, node, 0, bits, seen);
        }
      },
    };
  };

  const compute = ({ leaves }: State): Uint32Array => {
    work.begin();
    const parts = leaves.map(partOf);
    const found = parts.flatMap((part) => part.found);
    const rest = parts.flatMap((part) => part.rest ?? []);
    if (rest.length === 0) return keptUnion(found);
    const bits = union(found);
    const seen = new Set<number>();
    for (const add of rest) add(bits, seen);
    return bits;
  };

  return {
    get bytes() {
      return kept.calculatedSize + keptUnions.calculatedSize;
    },
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
