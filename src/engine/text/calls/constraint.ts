// Interface of constraints on the next token of a text. A grammar makes one for each choice; the loop (loop.ts) asks it for a mask while
// the device computes the logits that the mask is for.

export interface Constraint {
  /**
   * Writes the bits of allowed tokens, one word per 32 tokens, all words. Returns false, and leaves `into` unchanged, if all tokens
   * are allowed.
   */
  mask(into: Uint32Array): boolean;
  /** Advances by a token; throws if the mask excludes the token. */
  accept(id: number): void;
  /** Returns the tokens that the constraint prescribes next, without advancing; [] if the model chooses. */
  forced(): number[];
  /**
   * Returns true if something other than the grammar excludes the token: a prescribed run stops before it. Default: nothing does.
   */
  bars?(id: number): boolean;
  /** Only end tokens are allowed. */
  readonly ended: boolean;
  /** Every further token is allowed, so that the constraint can be dropped. */
  readonly free?: boolean;
  /** The next token is not restricted, but later ones may be. */
  readonly idle?: boolean;
  /** Returns an independent copy in the current state. */
  fork(): Constraint;
  /**
   * Returns a copy for looking ahead at tokens that may come, which is right as long as its `part` is that of the constraint itself; null:
   * the constraint cannot tell. Default: `fork`, which is always right.
   */
  ahead?(): Constraint | null;
  /** Name of the part of the text that the constraint is in; left out: it has one only. */
  readonly part?: string | undefined;
}

/** A copy of a constraint for looking ahead; see Constraint.ahead. */
export function lookAhead(constraint: Constraint): Constraint | null {
  return constraint.ahead ? constraint.ahead() : constraint.fork();
}
