// Regular expressions as a tree, and the nondeterministic automaton of one. Assertions are kept as conditions of an edge; what
// holds at a place is known once the character after it is.

import { codePoints, type CodePoints } from './code-points.ts';
import { NO_CLASS, TooLarge, type Dfa } from './dfa.ts';

export type Assertion = 'start' | 'end' | 'wordBoundary' | 'noWordBoundary';

export type Expression =
  | { kind: 'set'; set: CodePoints }
  | { kind: 'dfa'; dfa: Dfa }
  | { kind: 'sequence'; parts: Expression[] }
  | { kind: 'choice'; parts: Expression[] }
  | { kind: 'repeat'; part: Expression; min: number; max: number }
  | { kind: 'assertion'; assertion: Assertion };

export interface Nfa {
  /** Of each state: where it goes without a character, and under which condition. */
  empty: { to: number; if: Assertion | null }[][];
  /** Of each state: where a character takes it; sets by number. */
  edges: { set: number; to: number }[][];
  sets: CodePoints[];
  start: number;
  final: number;
}

const MOST_STATES = 200_000;

export function characters(text: string): Expression {
  const parts = Array.from(text, (one): Expression => {
    const code = one.codePointAt(0)!;
    return { kind: 'set', set: codePoints([code, code]) };
  });
  return { kind: 'sequence', parts };
}

/** Throws TooLarge for one of more than `most` states. */
export function nfaOf(expression: Expression, most = MOST_STATES): Nfa {
  const nfa: Nfa = { empty: [], edges: [], sets: [], start: 0, final: 0 };
  const setNumbers = new Map<string, number>();
  const known = new Map<CodePoints, number>();
  const state = (): number => {
    if (nfa.empty.length >= most) throw new TooLarge(`an expression of over ${most} places`);
    nfa.edges.push([]);
    return nfa.empty.push([]) - 1;
  };
  const skip = (from: number, to: number, condition: Assertion | null = null): void => {
    nfa.empty[from]!.push({ to, if: condition });
  };
  const take = (from: number, set: CodePoints, to: number): void => {
    let number = known.get(set);
    if (number === undefined) {
      const key = set.join();
      number = setNumbers.get(key);
      if (number === undefined) setNumbers.set(key, (number = nfa.sets.push(set) - 1));
      known.set(set, number);
    }
    nfa.edges[from]!.push({ set: number, to });
  };

  /** Adds what leads from `from` to the state it returns. */
  const add = (part: Expression, from: number): number => {
    switch (part.kind) {
      case 'set': {
        const to = state();
        take(from, part.set, to);
        return to;
      }
      case 'assertion': {
        const to = state();
        skip(from, to, part.assertion);
        return to;
      }
      case 'sequence':
        return part.parts.reduce((at, each) => add(each, at), from);
      case 'choice': {
        const ends = part.parts.map((each) => {
          const begin = state();
          skip(from, begin);
          return add(each, begin);
        });
        const to = state();
        for (const end of ends) skip(end, to);
        return to;
      }
      case 'repeat':
        return addRepeat(part.part, part.min, part.max, from);
      case 'dfa':
        return addDfa(part.dfa, from);
    }
  };
  const addRepeat = (part: Expression, min: number, max: number, from: number): number => {
    let at = from;
    for (let i = 0; i < min; i++) {
      const before = at;
      at = add(part, before);
      if (at === before) break; // however often, it is nothing
    }
    const to = state();
    if (max === Infinity) {
      const loop = state();
      skip(at, loop);
      skip(add(part, loop), loop);
      skip(loop, to);
      return to;
    }
    for (let i = min; i < max; i++) {
      skip(at, to);
      const before = at;
      at = add(part, before);
      if (at === before) break;
    }
    skip(at, to);
    return to;
  };
  const addDfa = (dfa: Dfa, from: number): number => {
    const sets = classSets(dfa);
    const first = nfa.empty.length;
    for (let i = 0; i < dfa.accept.length; i++) state();
    const to = state();
    dfa.accept.forEach((accepting, i) => {
      if (accepting === 1) skip(first + i, to);
      sets.forEach((set, c) => {
        const next = dfa.next[i * dfa.classCount + c]!;
        if (next >= 0) take(first + i, set, first + next);
      });
    });
    if (dfa.accept.length > 0) skip(from, first);
    return to;
  };
  nfa.start = state();
  nfa.final = add(expression, nfa.start);
  return nfa;
}

/** The characters of each class. */
export function classSets({ starts, classes, classCount }: Dfa): CodePoints[] {
  const ranges: [number, number][][] = Array.from({ length: classCount }, () => []);
  classes.forEach((of, i) => {
    if (of !== NO_CLASS) ranges[of]!.push([starts[i]!, (starts[i + 1] ?? 0x110000) - 1]);
  });
  return ranges.map((each) => codePoints(...each));
}
