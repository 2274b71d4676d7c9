// Which tokens a lexeme takes from one of its states, whatever stands below it: worked out in one walk over the vocabulary, and kept
// for all grammars that have the same lexeme.

import { LRUCache } from 'lru-cache';
import type { Lexeme } from './lexeme.ts';
import type { Trie } from './trie.ts';

export interface Walk {
  /** Bits of the tokens it takes to their end; null where they are few. */
  bits: Uint32Array | null;
  /** Those tokens, where they are few. */
  tokens: Int32Array;
  /** Nodes where it can be complete and some token goes on. */
  exits: Int32Array;
}

export interface Walker {
  readonly trie: Trie;
  /** From the root, kept. */
  walk(lexeme: Lexeme, state: number): Walk;
  /** Below a node; `take` hears each node's number, and whether the lexeme is complete there. */
  below(node: number, lexeme: Lexeme, state: number, take: (node: number, isComplete: boolean) => void): void;
}

const MOST_BYTES = 64 * 2 ** 20;

/** `size`: tokens of the vocabulary. */
export function createWalker(trie: Trie, size: number): Walker {
  const words = Math.ceil(size / 32);
  const kept = new LRUCache<string, Walk>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ bits, tokens, exits }) =>
      256 + 4 * ((bits?.length ?? 0) + tokens.length + exits.length),
  });
  // State and place at each depth.
  const stateAt = new Int32Array(trie.deepest + 1);
  const placeAt = new Int32Array(trie.deepest + 1);
  const taken = new Int32Array(trie.nodes);
  const left = new Int32Array(trie.nodes);

  /** Nodes with a token, and nodes where the lexeme is complete: how many of each. */
  const run = (from: number, lexeme: Lexeme, packed: number): [tokens: number, exits: number] => {
    const { byte, depth, end, token } = trie;
    const { bytes, next, accept, viable, liveClasses, classCount, places } = lexeme;
    let tokens = 0;
    let exits = 0;
    const start = depth[from]!;
    stateAt[start] = Math.floor(packed / places);
    placeAt[start] = packed % places;
    const last = end[from]!;
    for (let node = from + 1; node < last;) {
      const at = depth[node]!;
      const state = stateAt[at - 1]!;
      const to = bytes[placeAt[at - 1]! * 256 + byte[node]!]!;
      if (to < 0) {
        const after = next[state * classCount - 1 - to]!;
        if (after < 0) {
          node = end[node]!;
          continue;
        }
        stateAt[at] = after;
        placeAt[at] = 0;
        if (accept[after] === 1 && end[node]! > node + 1) left[exits++] = node;
      } else {
        if (to === 0 || viable[liveClasses[state]! * places + to] === 0) {
          node = end[node]!;
          continue;
        }
        stateAt[at] = state;
        placeAt[at] = to;
      }
      if (token[node]! >= 0) taken[tokens++] = node;
      node++;
    }
    return [tokens, exits];
  };

  const everyId = function* (node: number): Generator<number, void, void> {
    for (let id = trie.token[node]!; id >= 0; id = trie.same[id]!) yield id;
  };

  return {
    trie,
    walk(lexeme, state) {
      const key = `${lexeme.key}/${state}`;
      let found = kept.get(key);
      if (found) return found;
      const [tokens, exits] = run(0, lexeme, state);
      const isDense = tokens > words;
      const bits = isDense ? new Uint32Array(words) : null;
      const few: number[] = [];
      for (let i = 0; i < tokens; i++) {
        for (const id of everyId(taken[i]!)) {
          if (bits) bits[id >>> 5]! |= 1 << (id & 31);
          else few.push(id);
        }
      }
      found = { bits, tokens: Int32Array.from(few), exits: left.slice(0, exits) };
      kept.set(key, found);
      return found;
    },
    below(node, lexeme, state, take) {
      const [tokens, exits] = run(node, lexeme, state);
      const nodes = taken.slice(0, tokens);
      const complete = left.slice(0, exits);
      for (const each of nodes) take(each, false);
      for (const each of complete) take(each, true);
    },
  };
}
