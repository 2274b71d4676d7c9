// A run of a lexeme over bytes. Its state is one number that packs three: the characters read so far (where the lexeme bounds them), the
// state of the DFA, and the state of the byte decoder.

import type { LengthCount, Lexeme } from './lexeme.ts';

/** The state after a byte; -1: no match begins so. The start is state 0. */
export function advance(lexeme: Lexeme, packed: number, byte: number): number {
  const { decoderStates, length, classCount } = lexeme;
  const upper = Math.floor(packed / decoderStates);
  const to = lexeme.decoder[(packed - upper * decoderStates) * 256 + byte]!;
  if (to === 0) return -1;
  const characters = charactersOf(lexeme, upper);
  const state = upper - characters * lexeme.accept.length;
  if (to > 0) {
    const isViable = lexeme.viable[lexeme.viableRows[state]! * decoderStates + to] === 1;
    return isViable && (length === null || fitsLength(lexeme, length, characters, state, to))
      ? upper * decoderStates + to
      : -1;
  }
  const next = lexeme.next[state * classCount - 1 - to]!;
  if (next < 0) return -1;
  if (length === null) return next * decoderStates;
  if (characters + 1 + length.distances[next]! > length.longest) return -1;
  return ((characters + 1) * lexeme.accept.length + next) * decoderStates;
}

/** Characters read so far; 0 where they are not counted. `upper`: a packed state without that of the decoder. */
function charactersOf({ length, accept }: Lexeme, upper: number): number {
  return length === null ? 0 : Math.floor(upper / accept.length);
}

/** Whether the decoder can complete a character after which the length bound still allows a match. */
function fitsLength(
  { next, classCount }: Lexeme,
  { longest, distances, mostDistance, reachable }: LengthCount,
  characters: number,
  state: number,
  decoderState: number,
): boolean {
  const room = longest - characters - 1;
  if (room >= mostDistance) return true;
  return reachable[decoderState]!.some((c) => {
    const to = next[state * classCount + c]!;
    return to >= 0 && distances[to]! <= room;
  });
}

/** Whether the bytes read so far are a match. */
export function isComplete(lexeme: Lexeme, packed: number): boolean {
  const { decoderStates, accept } = lexeme;
  if (packed % decoderStates !== 0) return false;
  const upper = packed / decoderStates;
  return accept[upper - charactersOf(lexeme, upper) * accept.length] === 1;
}

/** Whether further bytes can follow. */
export function canContinue(lexeme: Lexeme, packed: number): boolean {
  const { decoderStates, viable, viableRows, length, accept } = lexeme;
  if (packed % decoderStates !== 0) return true;
  const upper = packed / decoderStates;
  const characters = charactersOf(lexeme, upper);
  const state = upper - characters * accept.length;
  return (
    viable[viableRows[state]! * decoderStates] === 1 &&
    (length === null || fitsLength(lexeme, length, characters, state, 0))
  );
}

/**
 * Representative of the states that no text of at most `bytes` bytes distinguishes. `firstEquivalent`: [DFA states], the first state that is
 * equivalent for that length where characters are not counted (see state-equivalence.ts).
 */
export function representativeState(
  { decoderStates, length, accept }: Lexeme,
  packed: number,
  firstEquivalent: ArrayLike<number>,
  bytes: number,
): number {
  const upper = Math.floor(packed / decoderStates);
  const decoderState = packed - upper * decoderStates;
  if (length === null) return firstEquivalent[upper]! * decoderStates + decoderState;
  const characters = Math.floor(upper / accept.length);
  const state = upper - characters * accept.length;
  // The text has at most `bytes` characters, and up to this count every state after them can still reach a match.
  const unbounded = Math.max(0, length.longest - bytes - length.mostDistance);
  if (characters > unbounded) return packed;
  return (unbounded * accept.length + firstEquivalent[state]!) * decoderStates + decoderState;
}
