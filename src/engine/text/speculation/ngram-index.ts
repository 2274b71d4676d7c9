// Where runs of tokens occurred before: a growing text whose runs of MIN_MATCH tokens are found by hash, so that each token costs the
// same however long the text is.

/** Least tokens that must agree for a place to be found. */
export const MIN_MATCH = 2;
/** Most places that are compared, from the latest on. */
const MOST_PLACES = 16;
/** Tokens that are compared at most. */
const MOST_MATCH = 32;

/** A place after which the text may go on as it did there. */
export interface Match {
  /** Index of the token that followed. */
  at: number;
  /** Number of tokens before it that agree. */
  length: number;
}

export class NgramIndex {
  readonly tokens: number[] = [];
  /** Hash of the MIN_MATCH tokens before a place → the last such place; `#before`: from each place the one before it, or -1. */
  readonly #last = new Map<number, number>();
  readonly #before: number[] = [];

  add(token: number): void {
    const { tokens } = this;
    tokens.push(token);
    const place = tokens.length;
    if (place < MIN_MATCH) return;
    const hash = hashBefore(tokens, place);
    this.#before[place] = this.#last.get(hash) ?? -1;
    this.#last.set(hash, place);
  }

  /** The place with the longest run of tokens that agrees with those at the end of `text`; among equals the latest. */
  find(text: readonly number[]): Match | null {
    const end = text.length;
    if (end < MIN_MATCH) return null;
    let best: Match | null = null;
    let place = this.#last.get(hashBefore(text, end)) ?? -1;
    for (let tried = 0; place >= 0 && tried < MOST_PLACES; place = this.#before[place] ?? -1, tried++) {
      // The end of its own text is no earlier place.
      if (text === this.tokens && place === end) continue;
      const length = this.#agreeing(text, place);
      if (length >= MIN_MATCH && length > (best?.length ?? 0)) best = { at: place, length };
      if (length === MOST_MATCH) break;
    }
    return best;
  }

  #agreeing(text: readonly number[], place: number): number {
    const most = Math.min(MOST_MATCH, place, text.length);
    let length = 0;
    while (length < most && this.tokens[place - 1 - length] === text[text.length - 1 - length]) length++;
    return length;
  }
}

function hashBefore(tokens: readonly number[], end: number): number {
  let hash = 7;
  for (let i = end - MIN_MATCH; i < end; i++) hash = Math.imul(hash ^ tokens[i]!, 0x01000193) >>> 0;
  return hash;
}
