// A text of an automaton with at most so many characters. Where both together make a small automaton they become one; else the
// machine counts beside it, as the product would have a state for each of its states at each length.

import { intersect, isEmpty, lengthBetween, NOTHING, states, type Dfa, type Limits } from './dfa.ts';

export interface BoundedText {
  dfa: Dfa;
  /** Characters at most; Infinity: the automaton says it all. Otherwise some text of it is no longer than that. */
  longest: number;
}

/** States of a product that is made. */
const MOST_STATES = 10_000;
/** No reply is that long: a context has fewer than a million tokens, and a token no more than 4,096 bytes. */
const UNREACHABLE = 2 ** 32;

export function bounded(dfa: Dfa, longest: number, bounds: Limits): BoundedText {
  if (isEmpty(dfa) || longest >= UNREACHABLE) return { dfa, longest: Infinity };
  if (states(dfa) * (longest + 1) > MOST_STATES) {
    return shortestTexts(dfa)[0]! > longest ? { dfa: NOTHING, longest: Infinity } : { dfa, longest };
  }
  return { dfa: product(dfa, longest, bounds), longest: Infinity };
}

/** The same as one automaton. Throws TooLarge. */
export function product(dfa: Dfa, longest: number, bounds: Limits): Dfa {
  return longest === Infinity ? dfa : intersect(dfa, lengthBetween(0, longest, bounds), bounds);
}

/** Of each state: the fewest characters to a match. Every state leads to one. */
export function shortestTexts({ next, accept, classCount }: Omit<Dfa, 'starts' | 'classes'>): Int32Array {
  const before: number[][] = Array.from(accept, () => []);
  next.forEach((to, i) => {
    if (to >= 0) before[to]!.push(Math.floor(i / classCount));
  });
  const shortest = new Int32Array(accept.length).fill(-1);
  const queue: number[] = [];
  accept.forEach((accepting, state) => {
    if (accepting === 0) return;
    shortest[state] = 0;
    queue.push(state);
  });
  for (const state of queue) {
    for (const from of before[state]!) {
      if (shortest[from]! >= 0) continue;
      shortest[from] = shortest[state]! + 1;
      queue.push(from);
    }
  }
  return shortest;
}
