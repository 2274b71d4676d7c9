// Finds the tokens that would repeat a run of tokens in a text. Positions are found by a rolling hash of the tokens before them, so
// that the cost of a token does not depend on the length of the runs; choices share the table of their prompt.

export interface RepeatedRuns {
  add(token: number): void;
  /** Calls `take` with the tokens that would now complete a run that already occurs within the last `window` tokens. */
  ends(window: number, take: (token: number) => void): void;
  /** Returns an independent copy with the text so far. */
  fork(): RepeatedRuns;
}

interface Text {
  tokens: number[];
  /** Hash of the last size - 1 tokens. */
  hash: number;
  /** Hash of the tokens before a position → the last such position, and from each position the one before it; -1: none. */
  last: Map<number, number>;
  before: number[];
}

const FACTOR = 0x01000193;

/** Runs of `size` tokens, at least 1. The returned function starts the text of one choice, after the prompt. */
export function repeatedRuns(size: number, prompt: readonly number[]): () => RepeatedRuns {
  const base = textAfter(0);
  const runs = follow(size, textAfter(0), base);
  prompt.forEach(runs.add);
  return () => follow(size, base, textAfter(base.hash));
}

function textAfter(hash: number): Text {
  return { tokens: [], hash, last: new Map(), before: [] };
}

/** Continues the text `base`, which is not modified, in `own`. */
function follow(size: number, base: Text, own: Text): RepeatedRuns {
  const start = base.tokens.length;
  let weight = 1; // factor in the hash of the token that leaves the window
  for (let i = 1; i < size; i++) weight = Math.imul(weight, FACTOR);
  const of = (list: 'tokens' | 'before', place: number): number =>
    place < start ? base[list][place]! : own[list][place - start]!;
  const lastPlace = (): number => own.last.get(own.hash) ?? base.last.get(own.hash) ?? -1;
  const isSame = (place: number, other: number): boolean => {
    for (let i = 1; i < size; i++) if (of('tokens', place - i) !== of('tokens', other - i)) return false;
    return true;
  };
  return {
    add(token) {
      const place = start + own.tokens.length;
      const leaving = place - size + 1;
      own.before.push(leaving < 0 ? -1 : lastPlace());
      if (leaving >= 0) own.last.set(own.hash, place);
      own.tokens.push(token);
      const gone = leaving < 0 ? 0 : Math.imul(of('tokens', leaving) + 1, weight);
      own.hash = (Math.imul(own.hash, FACTOR) + token + 1 - gone) | 0;
    },
    ends(window, take) {
      const end = start + own.tokens.length;
      const first = end - window + size - 1;
      if (end < size - 1) return;
      for (let place = lastPlace(); place >= 0 && place >= first; place = of('before', place))
        if (isSame(place, end)) take(of('tokens', place));
    },
    fork: () =>
      follow(size, base, {
        ...own,
        tokens: [...own.tokens],
        last: new Map(own.last),
        before: [...own.before],
      }),
  };
}
