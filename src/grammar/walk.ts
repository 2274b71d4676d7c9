// Which tokens a lexeme takes from one of its states, whatever stands below it: worked out in walks over the vocabulary, and kept
// for all grammars that have the same lexeme. Short, longer and long tokens are walked apart, as states that no short token
// tells apart share a walk. A walk goes through a tree of kinds, and through the tree of bytes where it has to.

import { LRUCache } from 'lru-cache';
import { createKindTrees } from './kinds.ts';
import { isLiteral, representative, type Lexeme } from './lexeme.ts';
import { alikeStates } from './likeness.ts';
import { createSteps, DEAD, MIXED, WIDTH, type Steps } from './steps.ts';
import type { Trie } from './trie.ts';
import type { Work } from './work.ts';

export interface Walk {
  /** Its own, for what is kept about several. */
  id: number;
  /** Bits of the tokens it takes to their end; null where they are few. */
  bits: Uint32Array | null;
  /** Those tokens, where they are few. */
  tokens: Int32Array;
  /** Places where it can be complete and some token goes on. */
  exits: Int32Array;
  /** Nodes that were looked at for it. */
  visited: number;
}

/** Places are the nodes of the trie, then those of the trees of kinds, each of which stands for several. */
export interface Walker {
  readonly trie: Trie;
  /** How many there are. */
  readonly places: number;
  /** The nodes that a place stands for. */
  nodesOf(place: number): Int32Array;
  /** Sets the bits of the tokens that end at a place. */
  setTokens(place: number, bits: Uint32Array): void;
  /** From the root; kept. */
  walks(lexeme: Lexeme, state: number): Walk[];
  /**
   * Below a place; `take` hears of each with a token, and of each where the lexeme is complete and tokens go on. They are nodes
   * where `from` is one.
   */
  below(
    from: number,
    lexeme: Lexeme,
    state: number,
    work: Work,
    take: (place: number, isComplete: boolean) => void,
  ): void;
}

const MOST_BYTES = 64 * 2 ** 20;
/** Most bytes of the tables of all lexemes; beyond, they begin anew. */
const MOST_STEPS_BYTES = 64 * 2 ** 20;
/** Most bytes of tokens that are walked together. */
const SHORT = 8;
const LONGER = 24;
/** Lexemes whose states have been compared. */
const MOST_COMPARED = 256;

/** `size`: tokens of the vocabulary. `marks`: tokens that JSON strings do without, though their characters may stand there. */
export function createWalker(trie: Trie, size: number, marks: ReadonlySet<number>): Walker {
  const words = Math.ceil(size / 32);
  const { byte, depth, end, token, same, longest, nodes } = trie;
  const kinds = createKindTrees(trie);
  const apart = [SHORT, LONGER, trie.deepest];
  const together = [trie.deepest];
  const kept = new LRUCache<string, Walk>({
    maxSize: MOST_BYTES,
    sizeCalculation: ({ bits, tokens, exits }) =>
      256 + 4 * ((bits?.length ?? 0) + tokens.length + exits.length),
  });
  let walked = 0;
  const alike = new LRUCache<string, { lengths: number[]; first: Int32Array[] }>({ max: MOST_COMPARED });
  const compare = (lexeme: Lexeme): { lengths: number[]; first: Int32Array[] } => {
    if (isLiteral(lexeme)) return { lengths: together, first: [Int32Array.from(lexeme.accept, (_, i) => i)] };
    const first = alikeStates(lexeme, apart);
    const [short, , long] = first;
    // Without counts the few states there are differ soon or never.
    const isCounted = lexeme.count !== null || short!.some((state, i) => state !== long![i]);
    return isCounted ? { lengths: apart, first } : { lengths: together, first: [long!] };
  };
  let stepsOf = new Map<Lexeme, Steps>();
  let stepsBytes = 0;
  const stepsFor = (lexeme: Lexeme): Steps => {
    let steps = stepsOf.get(lexeme);
    if (steps && !steps.isFull) return steps;
    if (stepsBytes > MOST_STEPS_BYTES) {
      stepsOf = new Map();
      stepsBytes = 0;
    }
    // Bytes of tables that are replaced still count: they are forgotten a little early.
    stepsOf.set(lexeme, (steps = createSteps(lexeme, (bytes) => (stepsBytes += bytes))));
    return steps;
  };
  // Rows of the steps at each depth.
  const rowAt = new Int32Array(trie.deepest + 1);
  // Places with a token, places where the lexeme is complete.
  const taken = new Int32Array(nodes);
  const left = new Int32Array(nodes);
  let takenCount = 0;
  let leftCount = 0;
  let visited = 0;

  /** Nodes from `from` to `to` in a walk, those that are deeper than `above` and no deeper than `most`. */
  const runNodes = (from: number, to: number, steps: Steps, above: number, most: number): void => {
    let { next, filled, complete } = steps;
    for (let node = from; node < to;) {
      visited++;
      const at = depth[node]!;
      if (at > most || longest[node]! <= above) {
        node = end[node]!;
        continue;
      }
      const row = rowAt[at - 1]!;
      if (filled[row] === 0) {
        steps.fill(row);
        ({ next, filled, complete } = steps);
      }
      const after = next[row * WIDTH + byte[node]!]!;
      if (after === DEAD) {
        node = end[node]!;
        continue;
      }
      rowAt[at] = after;
      if (at > above) {
        if (token[node]! >= 0) taken[takenCount++] = node;
        if (complete[after] === 1 && end[node]! > node + 1) left[leftCount++] = node;
      }
      node++;
    }
  };

  /** The same in the trees of kinds. */
  const runKinds = (from: number, to: number, steps: Steps, above: number, most: number): void => {
    for (let node = from; node < to;) {
      visited++;
      const at = kinds.depth[node]!;
      if (at > most || kinds.longest[node]! <= above) {
        node = kinds.end[node]!;
        continue;
      }
      const row = rowAt[at - 1]!;
      if (steps.filled[row] === 0) steps.fill(row);
      const after = steps.next[row * WIDTH + kinds.column[node]!]!;
      if (after < 0) {
        if (after === MIXED) {
          for (let i = kinds.memberFrom[node]!; i < kinds.memberFrom[node + 1]!; i++) {
            const member = kinds.members[i]!;
            runNodes(member, end[member]!, steps, above, most);
          }
        }
        node = kinds.end[node]!;
        continue;
      }
      rowAt[at] = after;
      if (at > above) {
        if (kinds.tokenFrom[node]! < kinds.tokenFrom[node + 1]!) taken[takenCount++] = nodes + node;
        if (steps.complete[after] === 1 && kinds.end[node]! > node + 1) left[leftCount++] = nodes + node;
      }
      node++;
    }
  };

  /** Below a place; what it finds is in `taken` and `left`. */
  const run = (from: number, lexeme: Lexeme, state: number, above: number, most: number): void => {
    const steps = stepsFor(lexeme);
    takenCount = 0;
    leftCount = 0;
    visited = 0;
    if (from < nodes) {
      rowAt[depth[from]!] = steps.row(state);
      runNodes(from + 1, end[from]!, steps, above, most);
    } else {
      const node = from - nodes;
      rowAt[kinds.depth[node]!] = steps.row(state);
      runKinds(node + 1, kinds.end[node]!, steps, above, most);
    }
  };

  const forTokens = (place: number, take: (id: number) => void): void => {
    if (place < nodes) for (let id = token[place]!; id >= 0; id = same[id]!) take(id);
    else {
      const node = place - nodes;
      for (let i = kinds.tokenFrom[node]!; i < kinds.tokenFrom[node + 1]!; i++) take(kinds.tokens[i]!);
    }
  };
  const setTokens = (place: number, bits: Uint32Array): void => {
    if (place < nodes)
      for (let id = token[place]!; id >= 0; id = same[id]!) bits[id >>> 5]! |= 1 << (id & 31);
    else {
      const { tokens, tokenFrom } = kinds;
      const to = tokenFrom[place - nodes + 1]!;
      for (let i = tokenFrom[place - nodes]!; i < to; i++) bits[tokens[i]! >>> 5]! |= 1 << (tokens[i]! & 31);
    }
  };

  const walk = (lexeme: Lexeme, state: number, above: number, most: number): Walk => {
    const steps = stepsFor(lexeme);
    const root = steps.tellsKindsApart(steps.row(state)) ? kinds.second : 0;
    run(nodes + root, lexeme, state, above, most);
    let count = 0;
    for (let i = 0; i < takenCount; i++) count += tokenCount(taken[i]!);
    const bits = count > words ? new Uint32Array(words) : null;
    const few: number[] = [];
    for (let i = 0; i < takenCount; i++) {
      if (bits) setTokens(taken[i]!, bits);
      else forTokens(taken[i]!, (id) => few.push(id));
    }
    if (bits && lexeme.quoted) for (const id of marks) bits[id >>> 5]! &= ~(1 << (id & 31));
    const tokens = Int32Array.from(lexeme.quoted ? few.filter((id) => !marks.has(id)) : few);
    return { id: walked++, bits, tokens, exits: left.slice(0, leftCount), visited };
  };
  const tokenCount = (place: number): number =>
    place < nodes ? 1 : kinds.tokenFrom[place - nodes + 1]! - kinds.tokenFrom[place - nodes]!;

  return {
    trie,
    places: nodes + kinds.nodes,
    nodesOf(place) {
      if (place < nodes) return Int32Array.of(place);
      return kinds.members.subarray(kinds.memberFrom[place - nodes], kinds.memberFrom[place - nodes + 1]);
    },
    setTokens,
    walks(lexeme, packed) {
      let compared = alike.get(lexeme.key);
      if (!compared) alike.set(lexeme.key, (compared = compare(lexeme)));
      const { lengths, first } = compared;
      return lengths.map((most, i) => {
        const like = representative(lexeme, packed, first[i]!, most);
        const key = `${lexeme.key}/${i}/${like}`;
        let found = kept.get(key);
        if (!found) kept.set(key, (found = walk(lexeme, like, lengths[i - 1] ?? 0, most)));
        return found;
      });
    },
    below(from, lexeme, state, work, take) {
      run(from, lexeme, state, 0, trie.deepest);
      work.spend(visited);
      const tokens = taken.slice(0, takenCount);
      const complete = left.slice(0, leftCount);
      for (const each of tokens) take(each, false);
      for (const each of complete) take(each, true);
    },
  };
}
