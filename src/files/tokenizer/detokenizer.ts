// Decodes tokens to text as they stream. Bytes of an incomplete character are withheld, so that a stream never contains half a
// character; bytes that can never form one become U+FFFD, as in TextDecoder.

export interface Detokenizer {
  /** Text that is certain now; '' while a character is incomplete. */
  push(id: number): string;
  /** Returns the text still withheld. The next push begins a new text. */
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
  /** Tokens of the text that this one continues; empty: the text is new, and its leading space is removed. */
  after?: readonly number[];
}

/** A character has four bytes at most, and a token one at least. */
const LONGEST_CHARACTER = 4;

/** Whether the first token behind `after` opens its text: skipped tokens before it leave no trace in a decoded text. */
export function opensText(
  { specialIds }: TokenPieces,
  { skipSpecialTokens = true, after = [] }: DetokenizerOptions,
): boolean {
  return skipSpecialTokens ? after.every((id) => specialIds.has(id)) : after.length === 0;
}

export function createDetokenizer(
  tokenizer: TokenPieces,
  { skipSpecialTokens = true, after = [] }: DetokenizerOptions = {},
): Detokenizer {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let first = opensText(tokenizer, { skipSpecialTokens, after });
  let spacesToCut = first ? tokenizer.leadingSpaces : 0;
  // The text before may end within a character, which this one completes.
  if (!first) {
    for (const id of after.slice(-LONGEST_CHARACTER)) {
      if (skipSpecialTokens && tokenizer.specialIds.has(id)) continue;
      decoder.decode(tokenizer.tokenBytes(id), { stream: true });
    }
  }

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
