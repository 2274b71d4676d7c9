// Generated texts of sequences that have ended, in which later ones are looked up. Two generations of equal size: when the younger one
// is full, the older one is forgotten.

import { NgramIndex, type Match } from './ngram-index.ts';

/** Stands between two texts; it is no token. */
const END = -1;

export class RecentTexts {
  readonly #half: number;
  #young = new NgramIndex();
  #old = new NgramIndex();

  /** `capacity`: most tokens that are kept. */
  constructor(capacity: number) {
    this.#half = Math.max(1, Math.floor(capacity / 2));
  }

  add(tokens: readonly number[]): void {
    if (this.#young.tokens.length + tokens.length > this.#half) {
      this.#old = this.#young;
      this.#young = new NgramIndex();
    }
    for (const token of tokens.slice(-this.#half)) this.#young.add(token);
    this.#young.add(END);
  }

  find(text: readonly number[]): (Match & { index: NgramIndex }) | null {
    const [young, old] = [this.#young, this.#old].map((index) => {
      const match = index.find(text);
      return match && { ...match, index };
    });
    return (old?.length ?? 0) > (young?.length ?? 0) ? old! : (young ?? null);
  }
}
