// Matches stops in a stream of pieces. Only the longest tail that could still become a stop is withheld.

import type { Piece } from '../calls/piece.ts';
import type { StopAutomaton } from '../../../grammar/stops/stop-automaton.ts';

export interface StopMatch {
  /** Pieces that can be reported. Text of a matched stop is cut out of them. */
  pieces: Piece[];
  /** The stop that ended the text; null: none. */
  matched: string | null;
}

export interface StopMatcher {
  /** Adds a piece. `mayStop` false: a stop that this piece completes is ordinary text. */
  push(piece: Piece, mayStop?: boolean): StopMatch;
  /** Ends the text and returns the withheld pieces. */
  flush(): Piece[];
}

export interface StopOptions {
  stops: readonly StopAutomaton[];
  /** Whether the stop stays in the text. */
  keep?: boolean;
}

/**
 * Creates a matcher. The stop that is complete first ends the text, however it is split into tokens; of several that end at the
 * same character, the one that began first.
 */
export function createStopMatcher({ stops, keep = false }: StopOptions): StopMatcher {
  if (stops.length === 0) return { push: (piece) => ({ pieces: [piece], matched: null }), flush: () => [] };
  let withheld: Piece[] = [];
  /** Offsets at which the withheld text begins and ends. */
  let from = 0;
  let end = 0;
  const release = (to: number): Piece[] => {
    // Pieces that are already withheld are not split again at each token.
    if (to === from && withheld[0]?.text !== '') return [];
    const { before, after } = splitPieces(withheld, to - from);
    withheld = after;
    from = to;
    return before;
  };

  /** Stops at the end of the text, by where they begin. */
  const match = (code: number): { at: number; stop: string } | null => {
    let best: { at: number; stop: string } | null = null;
    for (const automaton of stops) {
      const at = automaton.step(code);
      if (at >= 0 && (best === null || at < best.at)) best = { at, stop: automaton.stop };
    }
    return best;
  };
  return {
    push(piece, mayStop = true) {
      withheld.push(piece);
      for (const character of piece.text) {
        const found = match(character.codePointAt(0)!);
        end += character.length;
        if (!found || !mayStop) continue;
        const pieces = release(keep ? end : Math.max(found.at, from));
        // Tokens of the stop are reported without text.
        for (const { id, special, logprob } of withheld)
          if (id !== null) pieces.push({ id, text: '', special, ...(logprob ? { logprob } : {}) });
        withheld = [];
        return { pieces, matched: found.stop };
      }
      const open = stops.reduce((first, stop) => Math.min(first, stop.open), end);
      return { pieces: release(Math.max(open, from)), matched: null };
    },
    flush: () => release(end),
  };
}

export function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('');
}

/** Splits pieces after `length` characters. A piece that is cut keeps its id in the first part; pieces without text stay with the piece before. */
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
