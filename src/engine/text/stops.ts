// Stop strings in a stream of pieces. Only the longest tail that could still become a stop is held back.

import type { Piece } from './piece.ts';

export interface StopMatch {
  /** What is safe to tell. Text that belongs to a stop is cut out of its pieces. */
  pieces: Piece[];
  /** The stop that ended it. */
  matched: string | null;
}

export interface StopMatcher {
  /** `mayStop` false: a stop that becomes complete now is text like any other. */
  push(piece: Piece, mayStop?: boolean): StopMatch;
  /** What is held, when nothing follows any more. */
  flush(): Piece[];
}

export interface StopOptions {
  /** The stop stays in the text. */
  keep?: boolean;
}

export function createStopMatcher(stops: readonly string[], { keep = false }: StopOptions = {}): StopMatcher {
  let held: Piece[] = [];
  const release = (length: number): Piece[] => {
    const parts = splitPieces(held, length);
    held = parts.after;
    return parts.before;
  };
  return {
    push(piece, mayStop = true) {
      held.push(piece);
      const text = textOf(held);
      const match = mayStop ? firstComplete(text, stops) : null;
      if (match) {
        const pieces = release(keep ? match.end : match.at);
        // Tokens of the stop are told, too: without text.
        for (const { id, special, logprob } of held)
          if (id !== null) pieces.push({ id, text: '', special, ...(logprob ? { logprob } : {}) });
        held = [];
        return { pieces, matched: match.stop };
      }
      return { pieces: release(text.length - longestPrefixTail(text, stops)), matched: null };
    },
    flush: () => release(Infinity),
  };
}

export function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('');
}

/** A piece that is cut in two keeps its id in the first part. Pieces without text go with what is before them. */
export function splitPieces(pieces: readonly Piece[], length: number): { before: Piece[]; after: Piece[] } {
  const before: Piece[] = [];
  const after: Piece[] = [];
  let left = length;
  for (const piece of pieces) {
    const fits = piece.text.length <= left && after.length === 0;
    if (fits) before.push(piece);
    else if (left > 0) {
      before.push({ ...piece, text: piece.text.slice(0, left) });
      after.push({ id: null, text: piece.text.slice(left), special: piece.special });
    } else after.push(piece);
    left = fits ? left - piece.text.length : 0;
  }
  return { before, after };
}

/**
 * The stop whose last character comes first; of several that end there, the longest. So the match does not depend on how
 * the text was cut into tokens.
 */
function firstComplete(
  text: string,
  stops: readonly string[],
): { at: number; end: number; stop: string } | null {
  let best: { at: number; stop: string; end: number } | null = null;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    const end = at + stop.length;
    if (at >= 0 && (best === null || end < best.end || (end === best.end && at < best.at)))
      best = { at, stop, end };
  }
  return best;
}

/** Length of the longest tail of `text` that begins one of the stops. */
function longestPrefixTail(text: string, stops: readonly string[]): number {
  let longest = 0;
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) longest = length;
    }
  }
  return longest;
}
