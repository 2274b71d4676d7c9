// Regular expressions as a syntax tree.

import { codePoints, type CodePoints } from './code-points.ts';
import type { Dfa } from './dfa-table.ts';

/** A condition on the characters on both sides of a place in the text. */
export type Assertion = 'start' | 'end' | 'wordBoundary' | 'noWordBoundary';

export type Expression =
  | { kind: 'set'; set: CodePoints }
  | { kind: 'dfa'; dfa: Dfa }
  | { kind: 'sequence'; parts: Expression[] }
  | { kind: 'choice'; parts: Expression[] }
  | { kind: 'repeat'; part: Expression; min: number; max: number }
  | { kind: 'assertion'; assertion: Assertion };

/** The expression that matches `text` alone. */
export function characters(text: string): Expression {
  const parts = Array.from(text, (one): Expression => {
    const code = one.codePointAt(0)!;
    return { kind: 'set', set: codePoints([code, code]) };
  });
  return { kind: 'sequence', parts };
}
