// How much an automaton accepts: how many texts, which ones, and whether they can run out.

import { pairs } from './code-points.ts';
import type { Dfa } from './dfa.ts';
import { classSets } from './expression.ts';

/** Of each state: how many texts lead on from it to a match; Infinity where there is no end of them. */
export function countTexts(a: Dfa): number[] {
  const sizes = classSets(a).map((set) =>
    pairs(set).reduce((sum, [first, last]) => sum + last - first + 1, 0),
  );
  const counts: (number | undefined)[] = [];
  const open = new Set<number>();
  const edges = (state: number): [c: number, to: number][] =>
    sizes.map((_, c): [number, number] => [c, a.next[state * a.classCount + c]!]).filter(([, to]) => to >= 0);
  for (let start = 0; start < a.accept.length; start++) {
    const stack = [start];
    for (let state = stack.at(-1); state !== undefined; state = stack.at(-1)) {
      if (counts[state] !== undefined) {
        stack.pop();
      } else if (open.has(state)) {
        // All below is counted, or open: then it comes round again.
        counts[state] = edges(state).reduce(
          (sum, [c, to]) => sum + sizes[c]! * (counts[to] ?? Infinity),
          Number(a.accept[state]),
        );
        open.delete(state);
        stack.pop();
      } else {
        open.add(state);
        for (const [, to] of edges(state)) if (counts[to] === undefined && !open.has(to)) stack.push(to);
      }
    }
  }
  return counts.map((count) => count ?? 0);
}

/** Whether after every beginning there are endless texts. */
export function neverRunsOut(a: Dfa): boolean {
  return countTexts(a).every((count) => count === Infinity);
}

/** All texts of an automaton that has finitely many. */
export function textsOf(a: Dfa): string[] {
  const sets = classSets(a);
  const texts: string[] = [];
  const walk = (state: number, text: string): void => {
    if (a.accept[state] === 1) texts.push(text);
    sets.forEach((set, c) => {
      const to = a.next[state * a.classCount + c]!;
      if (to < 0) return;
      for (const [first, last] of pairs(set))
        for (let code = first; code <= last; code++) walk(to, text + String.fromCodePoint(code));
    });
  };
  if (a.accept.length > 0) walk(0, '');
  return texts;
}
