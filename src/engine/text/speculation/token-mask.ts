// The mask of the tokens that may come next in a sequence, from its constraint and the bits that its request allows anywhere.

import type { Constraint } from '../calls/constraint.ts';

/** Settings of a request that restrict each of its tokens. */
export interface MaskRules {
  /** Bits of the tokens that the request allows at any position, one word per 32 tokens; null: all. */
  allowed: Uint32Array | null;
  stopIds: ReadonlySet<number>;
  /** Generated tokens before which end tokens are excluded. */
  minTokens: number;
}

export interface MaskState {
  readonly constraint: Constraint | null;
  /** The only token that may come next; undefined: the constraint decides. */
  readonly forced: number | undefined;
  /** Number of generated tokens so far. */
  readonly generated: number;
}

/** Writes the bits of the tokens that may come next, one word per 32 tokens. Throws what the constraint throws. */
export function writeTokenMask(
  into: Uint32Array,
  { constraint, forced, generated }: MaskState,
  { allowed, stopIds, minTokens }: MaskRules,
): void {
  if (forced !== undefined) {
    into.fill(0);
    into[forced >> 5]! |= 1 << (forced & 31);
    return;
  }
  if (constraint === null || !constraint.mask(into)) into.fill(0xffffffff);
  if (allowed !== null) for (let i = 0; i < into.length; i++) into[i]! &= allowed[i]!;
  if (constraint === null || generated >= minTokens) return;
  // If the constraint allows only an end token, the minimum length does not apply.
  const ends = [...stopIds].filter((id) => (into[id >> 5]! >>> (id & 31)) & 1);
  for (const id of ends) into[id >> 5]! &= ~(1 << (id & 31));
  if (into.every((word) => word === 0)) for (const id of ends) into[id >> 5]! |= 1 << (id & 31);
}

/** Whether something other than the constraint's rule excludes the token, even if the constraint allows nothing else. */
export function bars(id: number, constraint: Constraint | null, { allowed }: MaskRules): boolean {
  if (allowed !== null && ((allowed[id >> 5]! >>> (id & 31)) & 1) === 0) return true;
  return constraint?.bars?.(id) ?? false;
}
