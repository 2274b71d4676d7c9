// Counts how often a choice has generated each of its tokens, in the form that penalties and processors read on the device.

import { COUNT_WORDS } from '../../../kernels/batch.ts';

export interface TokenCounts {
  /** (token, count) pairs, sorted by token; valid until the next `add`. */
  readonly pairs: Uint32Array;
  add(token: number): void;
}

const FIRST_ROOM = 64;

export function createTokenCounts(): TokenCounts {
  let words = new Uint32Array(FIRST_ROOM * COUNT_WORDS);
  let size = 0;

  /** Index of the first pair whose token is not smaller. */
  const placeOf = (token: number): number => {
    let low = 0;
    let high = size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (words[middle * COUNT_WORDS]! < token) low = middle + 1;
      else high = middle;
    }
    return low * COUNT_WORDS;
  };

  return {
    get pairs() {
      return words.subarray(0, size * COUNT_WORDS);
    },
    add(token) {
      const at = placeOf(token);
      const end = size * COUNT_WORDS;
      if (at < end && words[at] === token) {
        words[at + 1]!++;
        return;
      }
      if (end === words.length) {
        const wider = new Uint32Array(2 * end);
        wider.set(words);
        words = wider;
      }
      words.copyWithin(at + COUNT_WORDS, at, end);
      words[at] = token;
      words[at + 1] = 1;
      size++;
    },
  };
}
