// Interface of constraints on the next token of a text. A grammar makes one for each choice; the loop (loop.ts) asks it for a mask while
// the device computes the logits that the mask is for.

export interface Constraint {
  /** Sets the bits of allowed tokens, one word per 32 tokens, every word of it; false: all are allowed, `into` is left alone. */
  mask(into: Uint32Array): boolean;
  /** Takes a token in; throws on one that the mask refused. */
  accept(id: number): void;
  /** Tokens that must follow whatever the model says; []: none. They are not taken in by this. */
  forced(): number[];
  /** Whether something beside the text so far rules the token out: a forced run stops before it. Left out: nothing does. */
  bars?(id: number): boolean;
  /** Only end tokens are allowed. */
  readonly ended: boolean;
  /** Nothing is refused any more, whatever comes: it has no say. */
  readonly free?: boolean;
  /** It has no say in the next token, but may have one later. */
  readonly idle?: boolean;
  /** Returns an independent copy in the current state. */
  fork(): Constraint;
}
