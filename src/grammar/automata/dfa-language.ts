// The language of a DFA: its number of texts, the texts themselves, and whether it is infinite after every prefix.

import { pairs } from './code-points.ts';
import { classSets, type Dfa } from './dfa-table.ts';

/** [states]: number of texts that lead from the state to a match; Infinity where a cycle does. */
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
        // Each successor is counted, or still open, in which case it lies on a cycle.
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

/** Whether every prefix of a match is a prefix of infinitely many matches. */
export function isInfiniteEverywhere(a: Dfa): boolean {
  return countTexts(a).every((count) => count === Infinity);
}

/** Lists the texts of an automaton with a finite language. */
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
