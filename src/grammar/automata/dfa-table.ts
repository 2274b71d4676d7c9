// The transition table of a deterministic finite automaton (DFA) over characters, as plain data. Automata made by `dfa()` are trimmed
// and minimal: every state is reachable and leads to an accepting state, so the empty language has no states.

import { codePoints, type CodePoints } from './code-points.ts';

export interface Dfa {
  /** [ranges]: first character of each range of characters, ascending from 0. */
  readonly starts: Uint32Array;
  /** [ranges]: character class of each range, or NO_CLASS. No state distinguishes the characters of one class. */
  readonly classes: Uint16Array;
  readonly classCount: number;
  /** [states][classes]: next state, or -1 where no match begins so. The start is state 0. */
  readonly next: Int32Array;
  /** [states]: 1 for accepting states. */
  readonly accept: Uint8Array;
}

/** The states of an automaton without the characters of its classes. */
export type Transitions = Omit<Dfa, 'starts' | 'classes'>;

/** Class of the characters that no state takes. */
export const NO_CLASS = 0xffff;

/** An automaton before trimming: its start is state 0, and -1 is a missing transition. */
export interface RawDfa {
  starts: ArrayLike<number>;
  classes: ArrayLike<number>;
  classCount: number;
  next: ArrayLike<number>;
  accept: ArrayLike<number | boolean>;
}

/** The automaton of the empty language. */
export const NOTHING: Dfa = {
  starts: new Uint32Array(1),
  classes: new Uint16Array([NO_CLASS]),
  classCount: 0,
  next: new Int32Array(0),
  accept: new Uint8Array(0),
};

/** Class of a character. */
export function classOf(a: Dfa, code: number): number {
  return a.classes[rangeOf(a, code)]!;
}

/** Index of the range that holds a character. */
export function rangeOf({ starts }: Dfa, code: number): number {
  return lastAtMost(starts, code);
}

/** Index of the last number that is at most `most`; the numbers ascend, and the first counts in any case. */
export function lastAtMost(numbers: ArrayLike<number>, most: number): number {
  let low = 0;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (numbers[middle]! <= most) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Number of states. */
export function states(a: Dfa): number {
  return a.accept.length;
}

/** Next state for a character of class `of`; -1: none. */
export function step(a: Dfa, state: number, of: number): number {
  return state < 0 || of === NO_CLASS ? -1 : a.next[state * a.classCount + of]!;
}

/** The inverse transitions: the states from which a character leads to a state, once for each class that does. */
export function sourcesOf({ next, accept, classCount }: Transitions): (state: number) => Int32Array {
  const count = accept.length;
  const from = new Int32Array(count + 1);
  for (const to of next) if (to >= 0) from[to + 1]!++;
  for (let state = 0; state < count; state++) from[state + 1]! += from[state]!;
  const sources = new Int32Array(from[count]!);
  const fill = from.slice();
  next.forEach((to, i) => {
    if (to >= 0) sources[fill[to]!++] = Math.floor(i / classCount);
  });
  return (state) => sources.subarray(from[state], from[state + 1]);
}

/** [classes]: the characters of each class. */
export function classSets({ starts, classes, classCount }: Dfa): CodePoints[] {
  const ranges: [number, number][][] = Array.from({ length: classCount }, () => []);
  classes.forEach((of, i) => {
    if (of !== NO_CLASS) ranges[of]!.push([starts[i]!, (starts[i + 1] ?? 0x110000) - 1]);
  });
  return ranges.map((each) => codePoints(...each));
}
