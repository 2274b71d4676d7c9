// Tokens that processors exclude as the next token of a text.

export interface Bans {
  /** Clears the bits of the banned tokens, one word per 32 tokens. */
  clear(into: Uint32Array): void;
  has(id: number): boolean;
  /** Whether texts are banned in any tokenization: then a token after which a banned text is unavoidable is banned as well. */
  readonly bansTexts?: boolean;
  accept(id: number): void;
  /** A copy at the same place in the text; both continue independently. */
  fork(): Bans;
}
