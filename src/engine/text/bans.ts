// Tokens that must not come next in a text, as processors rule them out.

export interface Bans {
  /** Clears the bits of the banned tokens, one word per 32 tokens. */
  clear(into: Uint32Array): void;
  has(id: number): boolean;
  /** Whether texts are banned, however tokens spell them: a token that must lead to one is then banned as well. */
  readonly bansTexts?: boolean;
  accept(id: number): void;
  /** A copy at the same place in the text; both continue independently. */
  fork(): Bans;
}
