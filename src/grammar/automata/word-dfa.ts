// The DFA of a finite set of words: the trie of their characters.

import { checkLimits, dfa, NO_CLASS, NOTHING, type Dfa, type Limits } from './dfa.ts';

export function wordsDfa(words: Iterable<string>, bounds: Limits): Dfa {
  const list = [...words].map((word) => Array.from(word, (character) => character.codePointAt(0)!));
  if (list.length === 0) return NOTHING;
  const codes = [...new Set(list.flat())].toSorted((a, b) => a - b);
  const classOf = new Map(codes.map((code, i) => [code, i]));
  const width = codes.length;
  const next: number[] = new Array<number>(width).fill(-1);
  const accept = [false];
  for (const word of list) {
    let state = 0;
    for (const code of word) {
      const entry = state * width + classOf.get(code)!;
      if (next[entry]! < 0) {
        next[entry] = accept.length;
        accept.push(false);
        checkLimits(bounds, accept.length, width);
        for (let c = 0; c < width; c++) next.push(-1);
      }
      state = next[entry]!;
    }
    accept[state] = true;
  }
  return dfa({ ...singletonClasses(codes), classCount: width, next, accept }, bounds);
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
