// Tokens in, text out, as it streams. Bytes of a character that is not complete yet are held back, so no part of a
// stream ever shows half a character; bytes that can never become one turn into U+FFFD, as TextDecoder does it.

export interface Detokenizer {
  /** Text that is certain now; '' while a character is incomplete. */
  push(id: number): string;
  /** What is still held. The next push begins a new text. */
  flush(): string;
}

export interface TokenPieces {
  /** `first`: the token opens its text. */
  tokenBytes(id: number, first?: boolean): Uint8Array;
  specialIds: ReadonlySet<number>;
  /** Spaces cut from the start of a whole text. */
  leadingSpaces: number;
}

export interface DetokenizerOptions {
  skipSpecialTokens?: boolean;
  /** The first text goes on with another: its leading space belongs to it. */
  continues?: boolean;
}

export function createDetokenizer(
  tokenizer: TokenPieces,
  { skipSpecialTokens = true, continues = false }: DetokenizerOptions = {},
): Detokenizer {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let first = !continues;
  let spacesToCut = continues ? 0 : tokenizer.leadingSpaces;

  const cut = (text: string): string => {
    let at = 0;
    while (spacesToCut > 0 && at < text.length) {
      if (text[at] === ' ') {
        at++;
        spacesToCut--;
      } else {
        spacesToCut = 0;
      }
    }
    return text.slice(at);
  };

  return {
    push(id) {
      if (skipSpecialTokens && tokenizer.specialIds.has(id)) return '';
      const bytes = tokenizer.tokenBytes(id, first);
      first = false;
      return cut(decoder.decode(bytes, { stream: true }));
    },
    flush() {
      const text = cut(decoder.decode());
      first = true;
      spacesToCut = tokenizer.leadingSpaces;
      return text;
    },
  };
}
