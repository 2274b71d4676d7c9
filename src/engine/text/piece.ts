// A token as text: what stop strings are looked for in, and what the parser of reasoning and tool calls reads.

import { createDetokenizer, type DetokenizerOptions } from '../../files/tokenizer/detokenizer.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { TokenLogprob } from './text-model.ts';

export interface Piece {
  /** null: more text, of tokens before. */
  id: number | null;
  /** Text for the client: '' while a character is incomplete, and for a special token that is skipped. */
  text: string;
  /** A special token of the vocabulary. */
  special: boolean;
  logprob?: TokenLogprob;
}

/** Makes pieces of one choice's tokens, in their order. */
export interface Pieces {
  of(id: number, logprob?: TokenLogprob): Piece;
  bytes(id: number): Uint8Array;
  /** How much of the text after this token is its own. */
  ownText(id: number): string;
  /** Text of a character that never became complete. */
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
