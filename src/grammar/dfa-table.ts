// A deterministic automaton over characters as plain data: the regular part of every grammar. Those that `dfa()` made are trimmed
// and minimal: each state is reached by some text and leads on to some match, so an empty language has no states.

export interface Dfa {
  /** The characters are cut into ranges; the first character of each, ascending, from 0 on. */
  readonly starts: Uint32Array;
  /** Of each range: its class, or NO_CLASS. Characters of one class are never told apart. */
  readonly classes: Uint16Array;
  readonly classCount: number;
  /** [states][classes] → state, -1 where no match begins so. The start is state 0. */
  readonly next: Int32Array;
  /** [states]: 1 where a match may end. */
  readonly accept: Uint8Array;
}

/** Class of characters that no state takes. */
export const NO_CLASS = 0xffff;

/** An automaton before it is trimmed: state 0 is the start, -1 nothing. */
export interface RawDfa {
  starts: ArrayLike<number>;
  classes: ArrayLike<number>;
  classCount: number;
  next: ArrayLike<number>;
  accept: ArrayLike<number | boolean>;
}

export const NOTHING: Dfa = {
  starts: new Uint32Array(1),
  classes: new Uint16Array([NO_CLASS]),
  classCount: 0,
  next: new Int32Array(0),
  accept: new Uint8Array(0),
};

export function classOf(a: Dfa, code: number): number {
  return a.classes[rangeOf(a, code)]!;
}

/** The range that a character is in. */
export function rangeOf({ starts }: Dfa, code: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= code) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function states(a: Dfa): number {
  return a.accept.length;
}

export function step(a: Dfa, state: number, of: number): number {
  return state < 0 || of === NO_CLASS ? -1 : a.next[state * a.classCount + of]!;
}
