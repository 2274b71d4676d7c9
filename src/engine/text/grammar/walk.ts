// Which tokens a lexeme takes from one of its states, whatever stands below it: worked out in walks over the vocabulary, and kept
// for all grammars that have the same lexeme. Short, longer and long tokens are walked apart, as states that no short token
// tells apart share a walk.

import { LRUCache } from 'lru-cache';
import type { Lexeme } from './lexeme.ts';
import { alikeStates } from './likeness.ts';
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
  /** From the root; kept. */
  walks(lexeme: Lexeme, state: number): Walk[];
  /** Below a node; `take` hears of each node with a token, and of each where the lexeme is complete and tokens go on. */
  below(node: number, lexeme: Lexeme, state: number, take: (node: number, isComplete: boolean) => void): void;
}

const MOST_BYTES = 64 * 2 ** 20;
/** Most bytes of tokens that are walked together. */
const SHORT = 8;
const LONGER = 24;
/** Lexemes whose states have been compared. */
const MOST_COMPARED = 256;

/** `size`: tokens of the vocabulary. `marks`: tokens that JSON strings do without, though their characters may stand there. */
export function createWalker(trie: Trie, size: number, marks: ReadonlySet<number>): Walker {
  const words = Math.ceil(size / 32);
  const { byte, depth, end, token, same, longest } = trie;
  const apart = [SHORT, LONGER, trie.deepest];
  const together = [trie.deepest];
  const kept = new LRUCache<string, Walk>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ bits, tokens, exits }) =>
      256 + 4 * ((bits?.length ?? 0) + tokens.length + exits.length),
  });
  const alike = new LRUCache<string, { lengths: number[]; first: Int32Array[] }>({ max: MOST_COMPARED });
  const compare = (lexeme: Lexeme): { lengths: number[]; first: Int32Array[] } => {
    const first = alikeStates(lexeme, apart);
    const [short, , long] = first;
    // Without counts the few states there are differ soon or never.
    const isCounted = short!.some((state, i) => state !== long![i]);
    return isCounted ? { lengths: apart, first } : { lengths: together, first: [long!] };
  };
  // State and place at each depth.
  const stateAt = new Int32Array(trie.deepest + 1);
  const placeAt = new Int32Array(trie.deepest + 1);
  const taken = new Int32Array(trie.nodes);
  const left = new Int32Array(trie.nodes);

  /** Nodes deeper than `above` and no deeper than `most`: those with a token, those where the lexeme is complete; how many. */
  const run = (
    from: number,
    { bytes, next, accept, viable, liveClasses, classCount, places }: Lexeme,
    packed: number,
    above: number,
    most: number,
  ): [tokens: number, exits: number] => {
    let tokens = 0;
    let exits = 0;
    const start = depth[from]!;
    stateAt[start] = Math.floor(packed / places);
    placeAt[start] = packed % places;
    const last = end[from]!;
    for (let node = from + 1; node < last;) {
      const at = depth[node]!;
      if (at > most || longest[node]! <= above) {
        node = end[node]!;
        continue;
      }
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
        if (accept[after] === 1 && at > above && end[node]! > node + 1) left[exits++] = node;
      } else {
        if (to === 0 || viable[liveClasses[state]! * places + to] === 0) {
          node = end[node]!;
          continue;
        }
        stateAt[at] = state;
        placeAt[at] = to;
      }
      if (token[node]! >= 0 && at > above) taken[tokens++] = node;
      node++;
    }
    return [tokens, exits];
  };

  const walk = (lexeme: Lexeme, state: number, above: number, most: number): Walk => {
    const [tokens, exits] = run(0, lexeme, state, above, most);
    const bits = tokens > words ? new Uint32Array(words) : null;
    const few: number[] = [];
    for (let i = 0; i < tokens; i++) {
      for (let id = token[taken[i]!]!; id >= 0; id = same[id]!) {
        if (lexeme.quoted && marks.has(id)) continue;
        if (bits) bits[id >>> 5]! |= 1 << (id & 31);
        else few.push(id);
      }
    }
    return { bits, tokens: Int32Array.from(few), exits: left.slice(0, exits) };
  };

  return {
    trie,
    walks(lexeme, packed) {
      let compared = alike.get(lexeme.key);
      if (!compared) alike.set(lexeme.key, (compared = compare(lexeme)));
      const { lengths, first } = compared;
      const { places } = lexeme;
      const place = packed % places;
      const state = (packed - place) / places;
      return lengths.map((most, i) => {
        const like = first[i]![state]! * places + place;
        const key = `${lexeme.key}/${i}/${like}`;
        let found = kept.get(key);
        if (!found) kept.set(key, (found = walk(lexeme, like, lengths[i - 1] ?? 0, most)));
        return found;
      });
    },
    below(node, lexeme, state, take) {
      const [tokens, exits] = run(node, lexeme, state, 0, trie.deepest);
      const nodes = taken.slice(0, tokens);
      const complete = left.slice(0, exits);
      for (const each of nodes) take(each, false);
      for (const each of complete) take(each, true);
    },
  };
}
