// The DFA of a finite set of words: the trie of their characters.

import { checkLimits, dfa, NO_CLASS, NOTHING, type Dfa, type Limits } from './dfa.ts';

export function wordsDfa(words: Iterable<string>, bounds: Limits): Dfa {
  const { codes, width, nodes, next, ends } = characterTrie(words, 0, bounds);
  if (ends.length === 0) return NOTHING;
  const accept = new Array<boolean>(nodes).fill(false);
  for (const node of ends) accept[node] = true;
  return dfa({ ...singletonClasses(codes), classCount: width, next, accept }, bounds);
}

/** The trie of the characters of words; node 0 is the root. */
export interface CharacterTrie {
  /** Ascending. */
  codes: number[];
  /** Class of each character; those before them are spare. */
  classOf: ReadonlyMap<number, number>;
  /** Number of classes. */
  width: number;
  nodes: number;
  /** [nodes][classes]: child, or -1. */
  next: number[];
  /** [words]: the node that a word leads to. */
  ends: number[];
}

/** `spare`: classes before those of the characters. Throws TooLarge. */
export function characterTrie(words: Iterable<string>, spare: number, bounds: Limits): CharacterTrie {
  const list = [...words].map((word) => Array.from(word, (character) => character.codePointAt(0)!));
  const codes = [...new Set(list.flat())].toSorted((a, b) => a - b);
  const classOf = new Map(codes.map((code, i) => [code, spare + i]));
  const width = spare + codes.length;
  const next = new Array<number>(width).fill(-1);
  let nodes = 1;
  const ends = list.map((word) => {
    let node = 0;
    for (const code of word) {
      const entry = node * width + classOf.get(code)!;
      if (next[entry]! < 0) {
        next[entry] = nodes++;
        checkLimits(bounds, nodes, width);
        for (let c = 0; c < width; c++) next.push(-1);
      }
      node = next[entry]!;
    }
    return node;
  });
  return { codes, classOf, width, nodes, next, ends };
}

/** Class i holds the i-th code alone. */
function singletonClasses(codes: readonly number[]): { starts: number[]; classes: number[] } {
  const starts = [0];
  const classes = [NO_CLASS];
  for (const [i, code] of codes.entries()) {
    if (starts.at(-1) === code) classes[classes.length - 1] = i;
    else {
      starts.push(code);
      classes.push(i);
    }
    starts.push(code + 1);
    classes.push(NO_CLASS);
  }
  return { starts, classes };
}
