// Regular expressions in JavaScript's syntax with the u flag, as DFAs: matching takes time linear in the text, without backtracking.
// Lazy and greedy quantifiers are equal, since only whole texts are matched. Look-ahead is supported at the start of an anchored
// alternative, as in password rules; other look-around and back-references are refused.

import { GrammarError } from '../bounds/grammar-error.ts';
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
import { determinize } from './determinize.ts';
import type { Expression } from './expression.ts';
import { parseRegex, quote, type Alternative } from './regex-parser.ts';

export interface RegexOptions {
  /** true: the whole text must match; false: some part of it must, as for `pattern` of JSON Schema. */
  whole: boolean;
  limits?: Limits;
}

const EVERYTHING: Expression = { kind: 'dfa', dfa: ANY_TEXT };

/** The DFA of the texts that match. Throws bad_request with the place in the pattern. */
export function regexDfa(pattern: string, { whole, limits: bounds = limits() }: RegexOptions): Dfa {
  const alternatives = parseRegex(pattern);
  try {
    const plain = alternatives.filter(({ lookaheads }) => lookaheads.length === 0).map(({ rest }) => rest);
    const first =
      plain.length === 0 ? NOTHING : determinize(framed({ kind: 'choice', parts: plain }, whole), bounds);
    return alternatives
      .filter(({ lookaheads }) => lookaheads.length > 0)
      .reduce(
        (all, alternative) => unite(all, withLookaheads(alternative, pattern, whole, bounds), bounds),
        first,
      );
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    throw new GrammarError(
      'bad_request',
      `the regular expression ${quote(pattern)} needs ${error.message}, more than a grammar may have: make its repetitions shorter`,
    );
  }
}

function framed(expression: Expression, whole: boolean): Expression {
  return whole ? expression : { kind: 'sequence', parts: [EVERYTHING, expression, EVERYTHING] };
}

/** Look-aheads at the start of the text are conditions on the whole text. */
function withLookaheads(
  { rest, lookaheads, anchored, at }: Alternative,
  pattern: string,
  whole: boolean,
  bounds: Limits,
): Dfa {
  if (!anchored && !whole) {
    throw new GrammarError(
      'bad_request',
      `the regular expression ${quote(pattern)} has look-ahead at character ${at + 1} that can stand anywhere: put ^ before it`,
    );
  }
  const parts = whole ? [rest] : [rest, EVERYTHING];
  return lookaheads.reduce(
    (texts, { expression, negative }) => {
      const begins = determinize({ kind: 'sequence', parts: [expression, EVERYTHING] }, bounds);
      return negative ? subtract(texts, begins, bounds) : intersect(texts, begins, bounds);
    },
    determinize({ kind: 'sequence', parts }, bounds),
  );
}
