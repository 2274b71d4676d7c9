// The texts of a DFA with at most a number of characters. A small product of the DFA and the bound becomes one DFA; for a larger one,
// the lexeme counts characters beside the DFA, since the product would have a copy of the DFA's states for each length.

import { intersect, isEmpty, lengthBetween, NOTHING, states, type Dfa, type Limits } from './dfa.ts';
import { sourcesOf, type Transitions } from './dfa-table.ts';

export interface BoundedDfa {
  dfa: Dfa;
  /** Most characters; Infinity: the DFA alone decides. Otherwise the DFA has a text that is no longer. */
  longest: number;
}

/** Most states of a product that is built. */
const MOST_STATES = 10_000;
/** No reply has so many characters: a context has fewer than a million tokens, and a token at most 4,096 bytes. */
const UNREACHABLE = 2 ** 32;

export function boundLength(dfa: Dfa, longest: number, bounds: Limits): BoundedDfa {
  if (isEmpty(dfa) || longest >= UNREACHABLE) return { dfa, longest: Infinity };
  if (states(dfa) * (longest + 1) > MOST_STATES) {
    return distancesToAccept(dfa)[0]! > longest ? { dfa: NOTHING, longest: Infinity } : { dfa, longest };
  }
  return { dfa: lengthProduct(dfa, longest, bounds), longest: Infinity };
}

/** The bounded texts as one DFA. Throws TooLarge. */
export function lengthProduct(dfa: Dfa, longest: number, bounds: Limits): Dfa {
  return longest === Infinity ? dfa : intersect(dfa, lengthBetween(0, longest, bounds), bounds);
}

/** [states]: the fewest characters from the state to an accepting one. Every state must lead to one. */
export function distancesToAccept(dfa: Transitions): Int32Array {
  const { accept } = dfa;
  const sources = sourcesOf(dfa);
  const distances = new Int32Array(accept.length).fill(-1);
  const queue: number[] = [];
  accept.forEach((accepting, state) => {
    if (accepting === 0) return;
    distances[state] = 0;
    queue.push(state);
  });
  for (const state of queue) {
    for (const from of sources(state)) {
      if (distances[from]! >= 0) continue;
      distances[from] = distances[state]! + 1;
      queue.push(from);
    }
  }
  return distances;
}
