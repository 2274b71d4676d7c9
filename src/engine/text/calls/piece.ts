// A generated token as text, the unit that the stop matcher and the output parser read.

import { createDetokenizer, type DetokenizerOptions } from '../../../files/tokenizer/detokenizer.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { TokenLogprob } from './text-model.ts';

export interface Piece {
  /** Token id; null: more text of the tokens before. */
  id: number | null;
  /** Text for the client: '' while a character is incomplete, and for a special token that is hidden. */
  text: string;
  /** Whether the token is a special token of the vocabulary. */
  special: boolean;
  logprob?: TokenLogprob;
}

/** Converts the tokens of one choice to pieces, in order. */
export interface Pieces {
  of(id: number, logprob?: TokenLogprob): Piece;
  bytes(id: number): Uint8Array;
  /** Returns the text of one token decoded by itself; '' for a special token that is hidden. */
  ownText(id: number): string;
  /** Returns the text of a character that was never completed. */
  rest(): string;
}

export function createPieces(
  tokenizer: Tokenizer,
  options: DetokenizerOptions & { skipSpecialTokens: boolean },
): Pieces {
  const { skipSpecialTokens } = options;
  const detokenizer = createDetokenizer(tokenizer, options);
  const special = (id: number): boolean => tokenizer.specialIds.has(id);
  return {
    of: (id, logprob) => ({
      id,
      text: detokenizer.push(id),
      special: special(id),
      ...(logprob ? { logprob } : {}),
    }),
    bytes: (id) => tokenizer.tokenBytes(id),
    ownText: (id) => (skipSpecialTokens && special(id) ? '' : tokenizer.tokenText(id)),
    rest: () => detokenizer.flush(),
  };
}
