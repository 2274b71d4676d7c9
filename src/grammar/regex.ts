// Regular expressions as JavaScript writes them with the u flag, as automata: no backtracking, so a match takes time in
// proportion to the text. Lazy and greedy quantifiers are the same, since only whole texts are judged. Look-ahead is read where it
// stands at the start of an anchored alternative, as password rules have it; other look-around and back-references are refused.

import { EngineError } from '../files/error.ts';
import {
  ANY_TEXT,
  intersect,
  limits,
  NOTHING,
  subtract,
  TooLarge,
  unite,
  type Dfa,
  type Limits,
} from './dfa.ts';
import { dfaOf } from './determinize.ts';
import type { Expression } from './expression.ts';
import { parseRegex, type Alternative } from './regex-parser.ts';

export interface RegexOptions {
  /** true: the whole text must match; false: some part of it, as `pattern` in JSON Schema has it. */
  whole: boolean;
  limits?: Limits;
}

const EVERYTHING: Expression = { kind: 'dfa', dfa: ANY_TEXT };

/** The texts that match. Throws bad_request, with the place in the pattern. */
export function regexDfa(pattern: string, { whole, limits: bounds = limits() }: RegexOptions): Dfa {
  const alternatives = parseRegex(pattern);
  try {
    const plain = alternatives.filter(({ looks }) => looks.length === 0).map(({ rest }) => rest);
    const first =
      plain.length === 0 ? NOTHING : dfaOf(framed({ kind: 'choice', parts: plain }, whole), bounds);
    return alternatives
      .filter(({ looks }) => looks.length > 0)
      .reduce(
        (all, alternative) => unite(all, withLooks(alternative, pattern, whole, bounds), bounds),
        first,
      );
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    throw new EngineError(
      'bad_request',
      `the regular expression ${quote(pattern)} needs ${error.message}, more than a grammar may have: make its repetitions shorter`,
    );
  }
}

function framed(expression: Expression, whole: boolean): Expression {
  return whole ? expression : { kind: 'sequence', parts: [EVERYTHING, expression, EVERYTHING] };
}

/** Looks stand at the start of the text, where each is a condition on the whole of it. */
function withLooks(
  { rest, looks, anchored, at }: Alternative,
  pattern: string,
  whole: boolean,
  bounds: Limits,
): Dfa {
  if (!anchored && !whole) {
    throw new EngineError(
      'bad_request',
      `the regular expression ${quote(pattern)} has look-ahead at character ${at + 1} that can stand anywhere: put ^ before it`,
    );
  }
  const parts = whole ? [rest] : [rest, EVERYTHING];
  return looks.reduce(
    (texts, { inside, negative }) => {
      const begins = dfaOf({ kind: 'sequence', parts: [inside, EVERYTHING] }, bounds);
      return negative ? subtract(texts, begins, bounds) : intersect(texts, begins, bounds);
    },
    dfaOf({ kind: 'sequence', parts }, bounds),
  );
}

export function quote(pattern: string): string {
  return JSON.stringify(pattern.length > 80 ? `${pattern.slice(0, 80)}…` : pattern);
}
