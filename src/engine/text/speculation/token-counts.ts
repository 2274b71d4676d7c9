// How often a choice has generated each of its tokens, for penalties.

import { COUNT_WORDS } from '../../../kernels/batch.ts';

const FIRST_ROOM = 64;

/** Counts how often a choice has generated each of its tokens, in the form that penalties and processors read on the device. */
export class TokenCounts {
  #words = new Uint32Array(FIRST_ROOM * COUNT_WORDS);
  #size = 0;

  /** (token, count) pairs, sorted by token; valid until the next `add`. */
  get pairs(): Uint32Array {
    return this.#words.subarray(0, this.#size * COUNT_WORDS);
  }

  /** Number of pairs. */
  get size(): number {
    return this.#size;
  }

  /** The pairs after some more tokens. */
  pairsWith(tokens: readonly number[]): Uint32Array {
    const copy = new TokenCounts();
    copy.#words = this.#words.slice();
    copy.#size = this.#size;
    for (const token of tokens) copy.add(token);
    return copy.pairs;
  }

  add(token: number): void {
    const at = this.#placeOf(token);
    const end = this.#size * COUNT_WORDS;
    if (at < end && this.#words[at] === token) {
      this.#words[at + 1]!++;
      return;
    }
    if (end === this.#words.length) {
      const wider = new Uint32Array(2 * end);
      wider.set(this.#words);
      this.#words = wider;
    }
    this.#words.copyWithin(at + COUNT_WORDS, at, end);
    this.#words[at] = token;
    this.#words[at + 1] = 1;
    this.#size++;
  }

  /** Index of the first pair whose token is not smaller. */
  #placeOf(token: number): number {
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#words[middle * COUNT_WORDS]! < token) low = middle + 1;
      else high = middle;
    }
    return low * COUNT_WORDS;
  }
}
